(** Composition: a layout R with R(c) = A(B(c)) for every coordinate c of B.

    Soundness: the two tests that tla/core/digits.py makes (each piece goes evenly through A; no pieces carry together past a
    bound) imply the law on the whole domain. Completeness: where the search finds nothing, there is no layout of the form,
    one list of modes for each mode of B. *)

From Coq Require Import ZArith List Lia.
From Tla Require Import Layout.
Import ListNotations.
Open Scope Z_scope.

(** * A layout as a sum of floors *)

(** The bounds (P, change) of the layout ((n, d) :: rest): its step changes by `change` at multiples of P. *)
Fixpoint changes (p n d : Z) (rest : layout) : list (Z * Z) :=
  match rest with
  | [] => []
  | (m, e) :: more => (p * n, e - n * d) :: changes (p * n) m e more
  end.

Fixpoint floors (cs : list (Z * Z)) (x : Z) : Z :=
  match cs with
  | [] => 0
  | (p, c) :: more => x / p * c + floors more x
  end.

Definition step (l : layout) : Z := match l with [] => 0 | (_, d) :: _ => d end.
Definition bounds (l : layout) : list (Z * Z) := match l with [] => [] | (n, d) :: rest => changes 1 n d rest end.

Lemma at_floors p n d rest x :
  0 < p -> 0 < n -> positive rest -> at_ ((n, d) :: rest) (x / p) = x / p * d + floors (changes p n d rest) x.
Proof.
  revert p n d x. induction rest as [|[m e] rest IH]; intros p n d x Hp Hn; [cbn [at_ changes floors]; lia|].
  rewrite positive_cons. intros [Hm Hr]. rewrite at_cons by discriminate. cbn [changes floors].
  rewrite Z.div_div by lia. rewrite IH by (assumption || nia).
  pose proof (Z.div_mod (x / p) n ltac:(lia)) as E. rewrite Z.div_div in E by lia. rewrite Z.mod_eq by lia. rewrite Z.div_div by lia. ring.
Qed.

Theorem at_steps l x : positive l -> at_ l x = x * step l + floors (bounds l) x.
Proof.
  destruct l as [|[n d] rest]; [cbn; lia|]. rewrite positive_cons. intros [Hn Hr].
  pose proof (at_floors 1 n d rest x ltac:(lia) Hn Hr) as H. rewrite Z.div_1_r in H. exact H.
Qed.

Lemma bounds_positive p n d rest : 0 < p -> 0 < n -> positive rest -> Forall (fun b => 0 < fst b) (changes p n d rest).
Proof.
  revert p n d. induction rest as [|[m e] rest IH]; intros p n d Hp Hn; [constructor|].
  rewrite positive_cons. intros [Hm Hr]. cbn [changes]. constructor; [cbn; nia | apply IH; (assumption || nia)].
Qed.

(** * Pieces *)

(** A piece (n, x, t): n steps of x in A's domain, and of t in A's values. *)
Notation piece := (Z * Z * Z)%type (only parsing).
Definition places (ps : list (Z * Z * Z)) : layout := map (fun '(n, x, _) => (n, x)) ps.
Definition values (ps : list (Z * Z * Z)) : layout := map (fun '(n, _, t) => (n, t)) ps.

Definition linear_over (a : layout) (ps : list (Z * Z * Z)) : Prop :=
  forall c, inside (places ps) c -> at_ a (offset (places ps) c) = offset (values ps) c.

(** How far the pieces reach together past multiples of p. *)
Fixpoint reach (p : Z) (ps : list (Z * Z * Z)) : Z :=
  match ps with
  | [] => 0
  | (n, x, _) :: more => (n - 1) * (x mod p) + reach p more
  end.

Lemma floor_sum p ps c : 0 < p -> inside (places ps) c ->
  exists q r, offset (places ps) c = p * q + r /\ 0 <= r <= reach p ps /\
  q = fold_right Z.add 0 (map (fun '(k, (_, x, _)) => k * (x / p)) (combine c ps)).
Proof.
  intros Hp. revert c. induction ps as [|[[n x] t] ps IH]; intros [|k c]; cbn [places map inside]; try contradiction.
  - intros _. exists 0, 0. cbn. lia.
  - intros [Hk Hc]. destruct (IH c Hc) as (q & r & E & Hr & Hq). clear IH.
    exists (k * (x / p) + q), (k * (x mod p) + r). cbn [combine map fold_right offset reach]. fold (places ps). rewrite E, Hq.
    pose proof (Z.div_mod x p ltac:(lia)). pose proof (Z.mod_pos_bound x p Hp). repeat split; nia.
Qed.

Lemma floor_linear p ps c : 0 < p -> reach p ps < p -> inside (places ps) c ->
  offset (places ps) c / p = fold_right Z.add 0 (map (fun '(k, (_, x, _)) => k * (x / p)) (combine c ps)).
Proof.
  intros Hp Hr Hc. destruct (floor_sum p ps c Hp Hc) as (q & r & E & Hq & F). rewrite <- F, E.
  symmetry. apply Z.div_unique with r; lia.
Qed.

Lemma sum_mul f (ps : list (Z * (Z * Z * Z))) m :
  fold_right Z.add 0 (map (fun u => f u) ps) * m = fold_right Z.add 0 (map (fun u => f u * m) ps).
Proof. induction ps; cbn; [reflexivity|]. rewrite <- IHps. ring. Qed.

Lemma floors_linear cs ps c :
  Forall (fun b => 0 < fst b /\ reach (fst b) ps < fst b) cs -> inside (places ps) c ->
  floors cs (offset (places ps) c) = fold_right Z.add 0 (map (fun '(k, (_, x, _)) => k * floors cs x) (combine c ps)).
Proof.
  intros H Hc. induction cs as [|[p e] cs IH]; cbn [floors].
  - clear. induction (combine c ps) as [|[k [[n x] t]] l IH]; cbn [map fold_right]; [reflexivity|]. rewrite <- IH. ring.
  - inversion H as [|? ? [Hp Hr] H']; subst. cbn [fst] in *. rewrite IH by assumption. rewrite (floor_linear p ps c) by assumption.
    clear. induction (combine c ps) as [|[k [[n x] t]] l IH]; cbn [map fold_right]; [ring|]. rewrite <- IH. ring.
Qed.

(** The two tests: where no bound of A is reached past by all pieces together, and each piece of more than one step has A's
    value, A is linear over the pieces. *)
Theorem no_carry a ps :
  positive a ->
  Forall (fun b => reach (fst b) ps < fst b) (bounds a) ->
  Forall (fun '(n, x, t) => n <= 1 \/ at_ a x = t) ps ->
  linear_over a ps.
Proof.
  intros Ha Hb Ht c Hc.
  assert (Forall (fun b => 0 < fst b /\ reach (fst b) ps < fst b) (bounds a)) as Hb'.
  { destruct a as [|[n d] rest]; [constructor|]. rewrite positive_cons in Ha.
    pose proof (bounds_positive 1 n d rest ltac:(lia) (proj1 Ha) (proj2 Ha)) as Hp. cbn [bounds] in *.
    rewrite Forall_forall in *. intros b Hin. split; [apply Hp, Hin | apply Hb, Hin]. }
  rewrite at_steps by assumption. rewrite floors_linear by assumption. clear Hb Hb'.
  revert c Hc. induction ps as [|[[n x] t] ps IH]; intros [|k c]; cbn [places values map inside]; try contradiction; intros Hc.
  - reflexivity.
  - inversion Ht as [|? ? Hx Ht']; subst. destruct Hc as [Hk Hc]. cbn [combine map fold_right offset].
    specialize (IH Ht' c Hc). fold (places ps) (values ps). rewrite <- IH.
    destruct Hx as [Hx|Hx]; [replace k with 0 by lia; ring|]. rewrite <- Hx, (at_steps a x Ha). ring.
Qed.

(** * One mode of B, cut *)

(** The mode (s, d) is cut into pieces: places follow one another, and extents multiply to s. *)
Fixpoint cuts (s d : Z) (ps : list (Z * Z * Z)) : Prop :=
  match ps with
  | [] => s = 1
  | (n, x, _) :: more => 0 < n /\ x = d /\ exists s', s = n * s' /\ cuts s' (d * n) more
  end.

Lemma cuts_places s d ps : cuts s d ps -> positive (places ps) /\ size (places ps) = s.
Proof.
  revert s d. induction ps as [|[[n x] t] ps IH]; cbn [cuts places map size]; intros s d.
  - intros ->. split; [constructor | reflexivity].
  - intros (Hn & -> & s' & -> & H). apply IH in H as [Hp Hs]. fold (places ps). rewrite positive_cons, Hs. tauto.
Qed.

Lemma places_offset s d ps c : cuts s d ps -> 0 <= c < s -> offset (places ps) (digits (places ps) c) = c * d.
Proof.
  revert s d c. induction ps as [|[[n x] t] ps IH]; cbn [cuts places map digits offset]; intros s d c.
  - intros -> H. replace c with 0 by lia. ring.
  - intros (Hn & -> & s' & -> & H) Hc. fold (places ps). rewrite (IH s' (d * n)).
    + rewrite (Z.mod_eq c n) by lia. ring.
    + exact H.
    + split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; nia].
Qed.

Lemma values_shape ps c : inside (values ps) c <-> inside (places ps) c.
Proof. revert c. induction ps as [|[[n x] t] ps IH]; intros [|k c]; cbn; [tauto..|]. specialize (IH c). tauto. Qed.

Lemma values_digits ps x : digits (values ps) x = digits (places ps) x.
Proof. revert x. induction ps as [|[[n y] t] ps IH]; intros x; cbn; [reflexivity|]. f_equal. apply IH. Qed.

Lemma values_size ps : size (values ps) = size (places ps).
Proof. induction ps as [|[[n y] t] ps IH]; cbn; [reflexivity|]. f_equal. apply IH. Qed.

Lemma values_positive ps : positive (values ps) <-> positive (places ps).
Proof.
  unfold positive, values, places. rewrite !Forall_map.
  split; intros H; (eapply Forall_impl; [|exact H]); intros [[n x] t]; cbn; auto.
Qed.

(** * The composition *)

(** R has a layout for each mode of B. R(c) is the sum of their values at the digits of c. *)
Fixpoint nested (r : list (list (Z * Z))) (c : list Z) : Z :=
  match r, c with
  | l :: more, k :: rest => at_ l k + nested more rest
  | _, _ => 0
  end.

Definition is_composition (a b : layout) (r : list (list (Z * Z))) : Prop :=
  Forall2 (fun m l => positive l /\ size l = fst m) b r /\
  forall c, inside b c -> nested r c = at_ a (offset b c).

Definition cut_of (b : layout) (cut : list (list (Z * Z * Z))) : Prop := Forall2 (fun m ps => cuts (fst m) (snd m) ps) b cut.

Lemma inside_app a b c d : inside a c -> inside b d -> inside (a ++ b) (c ++ d).
Proof. revert c. induction a as [|[n x] a IH]; intros [|k c]; cbn; try contradiction; [auto|]. intros [] ?. auto. Qed.

Lemma offset_app a b c d : inside a c -> offset (a ++ b) (c ++ d) = offset a c + offset b d.
Proof.
  revert c. induction a as [|[n x] a IH]; intros [|k c]; cbn [inside app offset]; try contradiction; [intros; lia|].
  intros [_ H]. rewrite IH by assumption. ring.
Qed.

Fixpoint split_digits (cut : list (list (Z * Z * Z))) (c : list Z) : list Z :=
  match cut, c with
  | ps :: more, k :: rest => digits (places ps) k ++ split_digits more rest
  | _, _ => []
  end.

Lemma split_correct b cut c : cut_of b cut -> inside b c ->
  let e := split_digits cut c in
  inside (places (concat cut)) e /\ offset (places (concat cut)) e = offset b c /\
  offset (values (concat cut)) e = nested (map values cut) c.
Proof.
  intros H. revert c. induction H as [|[s d] ps b cut Hc H IH]; intros [|k c]; cbn [inside]; try contradiction.
  - cbn. auto.
  - intros [Hk Hi]. destruct (IH c Hi) as (I & O & V). clear IH. cbn [concat split_digits fst snd] in *.
    unfold places, values in *. rewrite !map_app. fold (places ps) (values ps) (places (concat cut)) (values (concat cut)) in *.
    destruct (cuts_places s d ps Hc) as [Hp Hs]. pose proof (digits_inside (places ps) k Hp) as Hd.
    repeat split.
    + apply inside_app; assumption.
    + rewrite offset_app by assumption. rewrite O, (places_offset s d) by assumption. reflexivity.
    + rewrite offset_app by (apply values_shape; assumption). rewrite V. cbn [map nested].
      rewrite at_digits; [rewrite values_digits; reflexivity | apply values_positive, Hp | rewrite values_size, Hs; exact Hk].
Qed.

(** Soundness. *)
Theorem composition_sound a b cut :
  cut_of b cut -> linear_over a (concat cut) -> is_composition a b (map values cut).
Proof.
  intros H L. split.
  - clear L. induction H as [|[s d] ps b cut Hc H IH]; cbn [map]; constructor; [|exact IH].
    destruct (cuts_places s d ps Hc) as [Hp Hs]. rewrite values_positive, values_size. auto.
  - intros c Hc. destruct (split_correct b cut c H Hc) as (I & O & V). cbn zeta in *. rewrite <- V, <- O. symmetry. apply L, I.
Qed.

Corollary composition_by_carries a b cut :
  positive a -> cut_of b cut ->
  Forall (fun p => reach (fst p) (concat cut) < fst p) (bounds a) ->
  Forall (fun '(n, x, t) => n <= 1 \/ at_ a x = t) (concat cut) ->
  is_composition a b (map values cut).
Proof. intros. apply composition_sound; [assumption | apply no_carry; assumption]. Qed.

(** * Completeness *)

(** The longest run of equal steps of f from 0 on, at most s of them. *)
Fixpoint run_from (f : Z -> Z) (n : Z) (fuel : nat) : Z :=
  match fuel with
  | O => n
  | S more => if f n =? n * f 1 then run_from f (n + 1) more else n
  end.

Definition run (f : Z -> Z) (s : Z) : Z := run_from f 2 (Z.to_nat (s - 2)).

Lemma run_from_spec f n fuel : (forall k, 0 <= k < n -> f k = k * f 1) ->
  let r := run_from f n fuel in
  n <= r <= n + Z.of_nat fuel /\ (forall k, 0 <= k < r -> f k = k * f 1) /\ (r < n + Z.of_nat fuel -> f r <> r * f 1).
Proof.
  revert n. induction fuel as [|fuel IH]; intros n H; cbn [run_from].
  - cbn zeta. split; [lia|]. split; [exact H | lia].
  - destruct (Z.eqb_spec (f n) (n * f 1)) as [E|E].
    + assert (forall k, 0 <= k < n + 1 -> f k = k * f 1) as H'.
      { intros k Hk. destruct (Z.eq_dec k n) as [->|]; [exact E | apply H; lia]. }
      specialize (IH (n + 1) H'). cbn zeta in *. destruct IH as (B & L & U).
      split; [lia|]. split; [exact L|]. intros Hr. apply U. lia.
    + cbn zeta. split; [lia|]. split; [exact H | intros _; exact E].
Qed.

Lemma run_spec f s : 1 < s -> f 0 = 0 ->
  2 <= run f s <= s /\ (forall k, 0 <= k < run f s -> f k = k * f 1) /\ (run f s < s -> f (run f s) <> run f s * f 1).
Proof.
  intros Hs H0. unfold run.
  assert (forall k, 0 <= k < 2 -> f k = k * f 1) as H.
  { intros k Hk. destruct (Z.eq_dec k 0) as [->|]; [lia|]. replace k with 1 by lia. lia. }
  pose proof (run_from_spec f 2 (Z.to_nat (s - 2)) H) as (B & L & U). rewrite Z2Nat.id in * by lia.
  split; [lia|]. split; [exact L|]. intros Hr. apply U. lia.
Qed.

(** The search: the runs of f over [0, s), each a mode; None where one does not divide what is left. *)
Fixpoint runs (f : Z -> Z) (s d : Z) (fuel : nat) : option (list (Z * Z * Z)) :=
  match fuel with
  | O => None
  | S more =>
      if s =? 1 then Some []
      else
        let n := run f s in
        if s mod n =? 0 then
          match runs (fun i => f (n * i)) (s / n) (d * n) more with
          | Some rest => Some ((n, d, f 1) :: rest)
          | None => None
          end
        else None
  end.

Lemma runs_cut f s d fuel ps : 0 < s -> runs f s d fuel = Some ps -> cuts s d ps.
Proof.
  revert f s d ps. induction fuel as [|fuel IH]; cbn [runs]; intros f s d ps Hs; [discriminate|].
  destruct (Z.eqb_spec s 1) as [->|Hs1]; [injection 1 as <-; reflexivity|].
  destruct (Z.eqb_spec (s mod run f s) 0) as [E|]; [|discriminate].
  set (n := run f s) in *.
  assert (0 < n) as Hn.
  { unfold n, run. pose proof (run_from_spec f 2 (Z.to_nat (s - 2))). clear -Hs. generalize (Z.to_nat (s - 2)). intros m.
    assert (forall k, 0 < k -> 0 < run_from f k m) as G; [|apply G; lia].
    induction m as [|m IHm]; intros k Hk; cbn [run_from]; [exact Hk|]. destruct (f k =? k * f 1); [apply IHm; lia | exact Hk]. }
  destruct (runs (fun i => f (n * i)) (s / n) (d * n) fuel) as [rest|] eqn:R; [|discriminate].
  injection 1 as <-. apply Z.div_exact in E; [|lia].
  assert (0 < s / n) by nia. apply IH in R; [|assumption]. cbn [cuts]. repeat split; [exact Hn|]. exists (s / n). auto.
Qed.

(** Where a layout has these values, the search finds it, and its result is that layout coalesced. *)
Lemma runs_found l f d fuel :
  positive l -> irreducible l -> (forall x, 0 <= x < size l -> f x = at_ l x) -> (length l < fuel)%nat ->
  exists ps, runs f (size l) d fuel = Some ps /\ values ps = l.
Proof.
  revert f d fuel. induction l as [|[n t] l IH]; intros f d fuel Hp Hi Hf Hl; destruct fuel as [|fuel]; try (cbn in Hl; lia).
  - exists []. split; reflexivity.
  - rewrite positive_cons in Hp. destruct Hp as [Hn Hp]. pose proof (size_positive l Hp) as Hs.
    pose proof (irreducible_size n t l Hp Hi) as Hs1. pose proof (irreducible_head n t l Hi) as Hn1.
    cbn [runs size] in *. destruct (Z.eqb_spec (n * size l) 1); [lia|].
    assert (f 1 = t) as E1 by (rewrite Hf, at_small by nia; ring).
    assert (f 0 = 0) as E0 by (rewrite Hf, at_zero by nia; reflexivity).
    destruct (run_spec f (n * size l) Hs1 E0) as (B & L & U).
    assert (run f (n * size l) = n) as ->.
    { set (r := run f (n * size l)) in *. destruct (Z.lt_trichotomy r n) as [Lt|[E|Gt]]; [|exact E|]; exfalso.
      - apply U; [nia|]. rewrite Hf, at_small by nia. rewrite E1. reflexivity.
      - destruct l as [|[m e] l]; [cbn [size] in *; lia|]. apply irreducible_next in Hi as [Hne Hi]. apply irreducible_head in Hi.
        specialize (L n ltac:(lia)). rewrite Hf, E1 in L by nia.
        rewrite at_cons in L by discriminate. rewrite Z.mod_same, Z.div_same in L by lia. rewrite at_small in L by lia. lia. }
    rewrite Z.mul_comm, Z.mod_mul, Z.div_mul by lia. rewrite Z.eqb_refl.
    destruct (IH (fun i => f (n * i)) (d * n) fuel) as (ps & R & V).
    + exact Hp.
    + destruct l as [|[]]; [exact I | apply irreducible_next in Hi; tauto].
    + intros x Hx. rewrite Hf by nia. destruct l as [|p l]; [cbn [size at_] in *; replace x with 0 by lia; ring|].
      rewrite at_cons by discriminate. rewrite (Z.mul_comm n x), Z.mod_mul, Z.div_mul by lia. ring.
    + cbn [length] in Hl. lia.
    + rewrite R. exists ((n, d, f 1) :: ps). split; [reflexivity|]. cbn [values map]. fold (values ps). rewrite V, E1. reflexivity.
Qed.

Lemma same_length {X Y} (p : X -> Y -> Prop) u v : Forall2 p u v -> length u = length v.
Proof. induction 1; cbn; lia. Qed.

(** The layout that a coordinate of a composition goes to along one mode of B, the other digits 0. *)
Lemma nested_zero (b : layout) r : Forall2 (fun m l => positive l /\ size l = fst m) b r -> nested r (map (fun _ => 0) b) = 0.
Proof. induction 1 as [|m l b r _ _ IH]; cbn [map nested]; [reflexivity|]. rewrite at_zero, IH. reflexivity. Qed.

Lemma offset_zero b : offset b (map (fun _ => 0) b) = 0.
Proof. induction b as [|[n d] b IH]; cbn [map offset]; [reflexivity|]. rewrite IH. ring. Qed.

Lemma inside_zero b : positive b -> inside b (map (fun _ => 0) b).
Proof. induction b as [|[n d] b IH]; cbn [map inside]; [trivial|]. rewrite positive_cons. intros [H Hb]. split; [lia | auto]. Qed.

Theorem along_one_mode a b0 s d b1 r0 l r1 i :
  positive b0 -> positive b1 -> length b0 = length r0 ->
  is_composition a (b0 ++ (s, d) :: b1) (r0 ++ l :: r1) -> 0 <= i < s -> at_ l i = at_ a (i * d).
Proof.
  intros H0 H1 Hlen [HF Hc] Hi.
  set (c := map (fun _ => 0) b0 ++ i :: map (fun _ => 0) b1).
  assert (inside (b0 ++ (s, d) :: b1) c) as Ic.
  { apply inside_app; [apply inside_zero, H0|]. cbn [inside]. split; [exact Hi | apply inside_zero, H1]. }
  specialize (Hc c Ic). unfold c in Hc. rewrite offset_app in Hc by (apply inside_zero, H0).
  rewrite offset_zero in Hc. cbn [offset] in Hc. rewrite offset_zero in Hc.
  apply Forall2_app_inv_l in HF as (x & y & HF0 & HF1 & E).
  assert (length x = length r0) as Lx by (apply same_length in HF0; lia).
  assert (x = r0 /\ y = l :: r1) as [-> ->].
  { clear -E Lx. revert r0 E Lx. induction x as [|h x IH]; intros [|g r0] E Lx; cbn in *; try lia; [auto|].
    injection E as -> E. destruct (IH r0 E ltac:(lia)) as [-> ->]. auto. }
  inversion HF1 as [|? ? ? ? _ HF2]; subst.
  assert (nested (r0 ++ l :: r1) (map (fun _ => 0) b0 ++ i :: map (fun _ => 0) b1) = at_ l i) as N.
  { clear -HF0 HF2. induction HF0 as [|m k b0 r0 _ _ IH]; cbn [app map nested].
    - rewrite (nested_zero b1 r1 HF2). ring.
    - rewrite at_zero. rewrite IH. ring. }
  rewrite N in Hc. rewrite Hc. f_equal. ring.
Qed.

(** The whole search: each mode of B cut into runs, then the law tried on every coordinate. *)
Fixpoint cut_modes (a b : layout) : option (list (list (Z * Z * Z))) :=
  match b with
  | [] => Some []
  | (s, d) :: rest =>
      match runs (fun i => at_ a (i * d)) s d (S (Z.to_nat s)), cut_modes a rest with
      | Some ps, Some more => Some (ps :: more)
      | _, _ => None
      end
  end.

Definition below (n : Z) : list Z := map Z.of_nat (seq 0 (Z.to_nat n)).

Fixpoint box (l : layout) : list (list Z) :=
  match l with
  | [] => [[]]
  | (n, _) :: rest => flat_map (fun c => map (fun k => k :: c) (below n)) (box rest)
  end.

Definition holds (a : layout) (ps : list (Z * Z * Z)) : bool :=
  forallb (fun c => at_ a (offset (places ps) c) =? offset (values ps) c) (box (places ps)).

Definition compose (a b : layout) : option (list (list (Z * Z * Z))) :=
  match cut_modes a b with
  | Some cut => if holds a (concat cut) then Some cut else None
  | None => None
  end.

Lemma below_spec n k : In k (below n) <-> 0 <= k < n.
Proof.
  unfold below. rewrite in_map_iff. split.
  - intros (i & <- & H). apply in_seq in H. lia.
  - intros H. exists (Z.to_nat k). rewrite in_seq. lia.
Qed.

Lemma box_spec l c : In c (box l) <-> inside l c.
Proof.
  revert c. induction l as [|[n d] l IH]; intros c; cbn [box].
  - destruct c; cbn; intuition discriminate.
  - rewrite in_flat_map. split.
    + intros (e & He & Hc). apply in_map_iff in Hc as (k & <- & Hk). apply below_spec in Hk. cbn [inside]. apply IH in He. auto.
    + destruct c as [|k c]; cbn [inside]; [contradiction|]. intros [Hk Hc]. exists c. split; [apply IH, Hc|].
      apply in_map_iff. exists k. split; [reflexivity | apply below_spec, Hk].
Qed.

Lemma holds_spec a ps : holds a ps = true <-> linear_over a ps.
Proof.
  unfold holds, linear_over. rewrite forallb_forall. split; intros H c Hc.
  - apply Z.eqb_eq, H, box_spec, Hc.
  - apply Z.eqb_eq, H, box_spec, Hc.
Qed.

Lemma cut_modes_cut a b cut : positive b -> cut_modes a b = Some cut -> cut_of b cut.
Proof.
  revert cut. induction b as [|[s d] b IH]; cbn [cut_modes]; intros cut; [injection 2 as <-; constructor|].
  rewrite positive_cons. intros [Hs Hb].
  destruct (runs (fun i => at_ a (i * d)) s d (S (Z.to_nat s))) as [ps|] eqn:R; [|discriminate].
  destruct (cut_modes a b) as [more|]; [|discriminate]. injection 1 as <-.
  constructor; [apply runs_cut in R; assumption | apply IH; auto].
Qed.

(** What the search answers is the composition. *)
Theorem compose_sound a b cut : positive b -> compose a b = Some cut -> is_composition a b (map values cut).
Proof.
  unfold compose. intros Hb. destruct (cut_modes a b) as [found|] eqn:E; [|discriminate].
  destruct (holds a (concat found)) eqn:L; [|discriminate]. injection 1 as <-.
  apply composition_sound; [apply (cut_modes_cut a); assumption | apply holds_spec, L].
Qed.

Lemma irreducible_length l : positive l -> irreducible l -> Z.of_nat (length l) <= size l.
Proof.
  induction l as [|[n d] l IH]; cbn [length size]; [lia|]. rewrite positive_cons. intros [Hn Hl] Hi.
  pose proof (irreducible_head n d l Hi). pose proof (size_positive l Hl).
  assert (irreducible l) as Hr by (destruct l as [|[]]; [exact I | apply irreducible_next in Hi; tauto]).
  specialize (IH Hl Hr). nia.
Qed.

(** One mode: where a layout has its values, the search finds one that does. *)
Lemma mode_found a s d l : 0 < s -> positive l -> size l = s -> (forall i, 0 <= i < s -> at_ l i = at_ a (i * d)) ->
  exists ps, runs (fun i => at_ a (i * d)) s d (S (Z.to_nat s)) = Some ps /\ forall i, 0 <= i < s -> at_ (values ps) i = at_ l i.
Proof.
  intros Hs Hl Hz Hv. destruct (Z.eq_dec s 1) as [->|Hs1].
  - exists []. split; [reflexivity|]. intros i Hi. replace i with 0 by lia. rewrite !at_zero. reflexivity.
  - assert (irreducible (coalesce l)) as Hi by (apply coalesce_irreducible; [exact Hl | lia]).
    pose proof (coalesce_positive l Hl) as Hp. pose proof (irreducible_length _ Hp Hi) as Hn. rewrite coalesce_size, Hz in Hn.
    destruct (runs_found (coalesce l) (fun i => at_ a (i * d)) d (S (Z.to_nat s)) Hp Hi) as (ps & R & V).
    + intros x Hx. rewrite coalesce_size, Hz in Hx. rewrite coalesce_correct by (rewrite ?Hz; assumption). symmetry. apply Hv, Hx.
    + lia.
    + rewrite coalesce_size, Hz in R. exists ps. split; [exact R|]. intros i Hx. rewrite V. apply coalesce_correct; [exact Hl | lia].
Qed.

Lemma positive_app x y : positive (x ++ y) <-> positive x /\ positive y.
Proof. apply Forall_app. Qed.

Lemma same_modes (b : layout) (r : list (list (Z * Z))) cut c :
  Forall2 (fun m l => positive l /\ size l = fst m) b r ->
  Forall2 (fun l ps => forall i, 0 <= i < size l -> at_ (values ps) i = at_ l i) r cut ->
  inside b c -> nested (map values cut) c = nested r c.
Proof.
  intros H. revert cut c. induction H as [|[s d] l b r [_ Hs] H IH]; intros cut c Hc; inversion Hc as [|? ps ? cut' Hl Hc']; subst.
  - reflexivity.
  - destruct c as [|k c]; cbn [inside]; [contradiction|]. intros [Hk Hi]. cbn [map nested fst] in *.
    rewrite (IH cut') by assumption. rewrite Hl by lia. reflexivity.
Qed.

Lemma modes_found a b0 b r0 r :
  positive (b0 ++ b) -> length b0 = length r0 -> is_composition a (b0 ++ b) (r0 ++ r) ->
  exists cut, cut_modes a b = Some cut /\ Forall2 (fun l ps => forall i, 0 <= i < size l -> at_ (values ps) i = at_ l i) r cut.
Proof.
  revert b0 r0 r. induction b as [|[s d] b IH]; intros b0 r0 r Hp Hlen Hc.
  - exists []. split; [reflexivity|]. destruct Hc as [HF _]. apply same_length in HF.
    rewrite !app_length in HF. cbn in HF. destruct r; [constructor | cbn in HF; lia].
  - destruct r as [|l r]; [destruct Hc as [HF _]; apply same_length in HF; rewrite !app_length in HF; cbn in HF; lia|].
    pose proof Hp as Hp'. apply positive_app in Hp' as [Hp0 Hpb]. rewrite positive_cons in Hpb. destruct Hpb as [Hs Hpb].
    assert (positive l /\ size l = s) as [Hl Hz].
    { destruct Hc as [HF _]. clear -HF Hlen. revert r0 Hlen HF. induction b0 as [|m b0 IH]; intros [|k r0] Hlen HF; cbn in *; try lia.
      - inversion HF; subst. assumption.
      - inversion HF; subst. apply (IH r0); [lia | assumption]. }
    pose proof (fun i => along_one_mode a b0 s d b r0 l r i Hp0 Hpb Hlen Hc) as Hv.
    destruct (mode_found a s d l Hs Hl Hz Hv) as (ps & R & V).
    destruct (IH (b0 ++ [(s, d)]) (r0 ++ [l]) r) as (cut & C & F).
    + rewrite <- app_assoc. exact Hp.
    + rewrite !app_length. cbn. lia.
    + rewrite <- !app_assoc. exact Hc.
    + exists (ps :: cut). cbn [cut_modes]. rewrite R, C. split; [reflexivity|]. constructor; [rewrite Hz; exact V | exact F].
Qed.

Lemma joined_digits b cut e : cut_of b cut -> inside (places (concat cut)) e -> exists c, inside b c /\ e = split_digits cut c.
Proof.
  intros H. revert e. induction H as [|[s d] ps b cut Hc H IH]; cbn [concat split_digits]; intros e He.
  - exists []. destruct e; [cbn; auto | contradiction].
  - unfold places in He. rewrite map_app in He. fold (places ps) (places (concat cut)) in He.
    assert (exists x y, e = x ++ y /\ inside (places ps) x /\ inside (places (concat cut)) y) as (x & y & -> & Hx & Hy).
    { clear -He. revert e He. induction (places ps) as [|[n x] l IHl]; intros e He; cbn [app] in He.
      - exists [], e. cbn. auto.
      - destruct e as [|k e]; cbn [inside] in He; [contradiction|]. destruct He as [Hk He].
        destruct (IHl e He) as (u & v & -> & Hu & Hv). exists (k :: u), v. cbn. auto. }
    destruct (IH y Hy) as (c & Hi & ->). destruct (cuts_places s d ps Hc) as [Hp Hs]. cbn [fst] in *.
    exists (index (places ps) x :: c). cbn [inside fst]. split.
    + split; [rewrite <- Hs; apply index_bound; assumption | exact Hi].
    + rewrite digits_index by assumption. reflexivity.
Qed.

(** Where any composition of the form exists, the search finds one: what it refuses has none. *)
Theorem compose_complete a b r : positive b -> is_composition a b r -> exists cut, compose a b = Some cut.
Proof.
  intros Hb Hc. destruct (modes_found a [] b [] r Hb eq_refl Hc) as (cut & C & F).
  exists cut. unfold compose. rewrite C.
  assert (holds a (concat cut) = true) as ->; [|reflexivity].
  apply holds_spec. pose proof (cut_modes_cut a b cut Hb C) as Hcut. intros e He.
  destruct (joined_digits b cut e Hcut He) as (c & Hi & ->).
  destruct (split_correct b cut c Hcut Hi) as (_ & O & V). cbn zeta in *. rewrite O, V.
  destruct Hc as [HF Hr]. rewrite (same_modes b r cut c HF F Hi). symmetry. apply Hr, Hi.
Qed.

Corollary refused_has_none a b : positive b -> compose a b = None -> forall r, ~ is_composition a b r.
Proof. intros Hb Hn r Hr. destruct (compose_complete a b r Hb Hr) as [cut C]. congruence. Qed.

(** * Witnesses of a refusal *)

Fixpoint apart (a b : layout) (c : list Z) : Z :=
  match b, c with
  | (_, d) :: rest, k :: more => at_ a (k * d) + apart a rest more
  | _, _ => 0
  end.

(** One coordinate at which the modes of B do not add up is enough. *)
Theorem refused_by_coordinate a b c : positive b -> inside b c -> at_ a (offset b c) <> apart a b c -> forall r, ~ is_composition a b r.
Proof.
  intros Hb Hi Hne r Hr. apply Hne. clear Hne. destruct (Hr) as [HF Hv]. rewrite <- (Hv c Hi).
  assert (forall b0 b1 r0 r1 c1, b = b0 ++ b1 -> r = r0 ++ r1 -> length b0 = length r0 -> inside b1 c1 ->
    nested r1 c1 = apart a b1 c1) as G; [|apply (G [] b [] r c); auto].
  intros b0 b1. revert b0. induction b1 as [|[s d] b1 IH]; intros b0 r0 r1 c1 Eb Er El Hc1.
  - cbn [apart]. destruct r1; [reflexivity|]. subst. apply same_length in HF. rewrite !app_length in HF. cbn in HF. lia.
  - destruct r1 as [|l r1]; [subst; apply same_length in HF; rewrite !app_length in HF; cbn in HF; lia|].
    destruct c1 as [|k c1]; cbn [inside] in Hc1; [contradiction|]. destruct Hc1 as [Hk Hc1]. cbn [nested apart].
    rewrite (IH (b0 ++ [(s, d)]) (r0 ++ [l]) r1 c1); rewrite <- ?app_assoc; auto.
    + f_equal. subst b r. apply positive_app in Hb as [Hb0 Hb1]. rewrite positive_cons in Hb1.
      apply (along_one_mode a b0 s d b1 r0 l r1 k); tauto.
    + rewrite !app_length. cbn. lia.
Qed.

(** One mode of B along which the values of A are those of no layout is enough. *)
Theorem refused_by_mode a b k s d : positive b -> nth_error b k = Some (s, d) ->
  (forall ps, runs (fun i => at_ a (i * d)) s d (S (Z.to_nat s)) = Some ps -> exists i, 0 <= i < s /\ at_ (values ps) i <> at_ a (i * d)) ->
  forall r, ~ is_composition a b r.
Proof.
  intros Hb Hk Hn r Hr. apply nth_error_split in Hk as (b0 & b1 & -> & Hlen). pose proof Hr as [HF _].
  apply Forall2_app_inv_l in HF as (r0 & r1' & HF0 & HF1 & ->). inversion HF1 as [|m l ? r1 [Hl Hz] _]; subst m r1'. cbn [fst] in Hz.
  apply positive_app in Hb as [Hb0 Hb1]. rewrite positive_cons in Hb1. destruct Hb1 as [Hs Hb1].
  assert (forall i, 0 <= i < s -> at_ l i = at_ a (i * d)) as V.
  { intros i Hi. apply (along_one_mode a b0 s d b1 r0 l r1 i); try assumption. apply same_length in HF0. exact HF0. }
  destruct (mode_found a s d l Hs Hl Hz V) as (ps & R & P). destruct (Hn ps R) as (i & Hi & N). apply N. rewrite P, V by exact Hi. reflexivity.
Qed.
