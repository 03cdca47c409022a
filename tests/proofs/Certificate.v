(** A checker of certificates, and the proof that what it accepts is true.

    A certificate is plain data: what went in, what came out, and the pieces between. The checker goes through it once. It is
    extracted to OCaml at the end; tla/algebra/checker.py says the same in Python. *)

From Coq Require Import ZArith List Lia Bool Permutation.
From Tla Require Import Layout Composition Complement Inverse Divide.
Import ListNotations.
Open Scope Z_scope.

(** * Merged modes, at every integer *)

(** Coalesced as a function of every integer: the last mode stays where it is not what goes on past the one before. *)
Fixpoint unbounded (n d : Z) (l : layout) : layout :=
  match l with
  | [] => [(n, d)]
  | (m, e) :: rest =>
      if e =? n * d then unbounded (n * m) d rest
      else if (m =? 1) && negb (match rest with [] => true | _ => false end) then unbounded n d rest
      else if n =? 1 then unbounded m e rest
      else (n, d) :: unbounded m e rest
  end.

Definition merged (l : layout) : layout := match l with [] => [] | (n, d) :: rest => unbounded n d rest end.

Lemma unbounded_nonempty n d l : unbounded n d l <> [].
Proof.
  revert n d. induction l as [|[m e] l IH]; intros n d; cbn [unbounded]; [discriminate|].
  destruct (e =? n * d); [apply IH|]. destruct ((m =? 1) && _); [apply IH|]. destruct (n =? 1); [apply IH | discriminate].
Qed.

Lemma unbounded_correct n d l x : 0 < n -> positive l -> at_ (unbounded n d l) x = at_ ((n, d) :: l) x.
Proof.
  revert n d x. induction l as [|[m e] l IH]; intros n d x Hn; cbn [unbounded]; [reflexivity|]. rewrite positive_cons. intros [Hm Hl].
  destruct (Z.eqb_spec e (n * d)) as [->|_]; [rewrite IH by (assumption || nia); symmetry; apply merge_head; assumption|].
  destruct ((m =? 1) && negb (match l with [] => true | _ => false end)) eqn:One.
  { apply andb_prop in One as [One More]. apply Z.eqb_eq in One as ->. destruct l as [|p l]; [discriminate|].
    rewrite IH by assumption. rewrite !at_cons by discriminate. rewrite Z.mod_1_r, Z.div_1_r. ring. }
  destruct (Z.eqb_spec n 1) as [->|_]; [rewrite IH by assumption; symmetry; apply drop_one; discriminate|].
  rewrite !at_cons by (apply unbounded_nonempty || discriminate). rewrite IH by assumption. reflexivity.
Qed.

Lemma unbounded_positive n d l : 0 < n -> positive l -> positive (unbounded n d l).
Proof.
  revert n d. induction l as [|[m e] l IH]; intros n d Hn; cbn [unbounded]; [intros; rewrite positive_cons; auto|].
  rewrite positive_cons. intros [Hm Hl]. destruct (e =? n * d); [apply IH; [nia | exact Hl]|].
  destruct ((m =? 1) && _); [apply IH; assumption|]. destruct (n =? 1); [apply IH; assumption|].
  rewrite positive_cons. split; [exact Hn | apply IH; assumption].
Qed.

Lemma merged_correct l x : positive l -> at_ (merged l) x = at_ l x.
Proof. destruct l as [|[n d] l]; [reflexivity|]. rewrite positive_cons. intros []. apply unbounded_correct; assumption. Qed.

Lemma merged_positive l : positive l -> positive (merged l).
Proof. destruct l as [|[n d] l]; [auto|]. rewrite positive_cons. intros []. apply unbounded_positive; assumption. Qed.

(** * The tests *)

Definition all_positive (l : layout) : bool := forallb (fun m => 0 <? fst m) l.

Fixpoint cuts_ok (s d : Z) (ps : list (Z * Z * Z)) : bool :=
  match ps with
  | [] => s =? 1
  | (n, x, _) :: more => (0 <? n) && (x =? d) && (s mod n =? 0) && cuts_ok (s / n) (d * n) more
  end.

Fixpoint all_cut (b : layout) (cut : list (list (Z * Z * Z))) : bool :=
  match b, cut with
  | [], [] => true
  | (s, d) :: b, ps :: cut => cuts_ok s d ps && all_cut b cut
  | _, _ => false
  end.

Definition steps_ok (a : layout) (ps : list (Z * Z * Z)) : bool := forallb (fun '(n, x, t) => (n <=? 1) || (at_ a x =? t)) ps.
Definition bounds_ok (a : layout) (ps : list (Z * Z * Z)) : bool := forallb (fun b => reach (fst b) ps <? fst b) (bounds (merged a)).

(** A is linear over the pieces: by its bounds, in one pass; or by every coordinate, where the certificate asks for it. *)
Definition linear_ok (by_bounds : bool) (a : layout) (ps : list (Z * Z * Z)) : bool :=
  all_positive a && (if by_bounds then steps_ok a ps && bounds_ok a ps else holds a ps).

Definition composed_ok (by_bounds : bool) (a b : layout) (cut : list (list (Z * Z * Z))) : bool :=
  all_cut b cut && linear_ok by_bounds a (concat cut).

Fixpoint ascending_ok (reach : Z) (l : layout) : bool :=
  match l with
  | [] => true
  | (n, d) :: rest => (0 <? n) && (reach <=? d) && ascending_ok (n * d) rest
  end.

Fixpoint contiguous_ok (reach : Z) (l : layout) : bool :=
  match l with
  | [] => true
  | (n, d) :: rest => (0 <? n) && (reach =? d) && contiguous_ok (n * d) rest
  end.

Fixpoint taken_out (m : Z * Z) (l : layout) : option layout :=
  match l with
  | [] => None
  | k :: rest =>
      if (fst k =? fst m) && (snd k =? snd m) then Some rest
      else match taken_out m rest with Some r => Some (k :: r) | None => None end
  end.

Fixpoint permuted_ok (a b : layout) : bool :=
  match a with
  | [] => match b with [] => true | _ => false end
  | m :: a => match taken_out m b with Some b => permuted_ok a b | None => false end
  end.

(** The modes that have more than one coordinate. *)
Definition counted (l : layout) : layout := filter (fun m => negb (fst m =? 1)) l.

(** Along a mode of extent s and place p, the values are those of one mode of stride p. *)
Fixpoint straight_ok (p : Z) (ps : list (Z * Z * Z)) : bool :=
  match ps with
  | [] => true
  | (n, _, t) :: more => (t =? p) && straight_ok (p * n) more
  end.

Fixpoint all_straight (p : Z) (a : layout) (cut : list (list (Z * Z * Z))) : bool :=
  match a, cut with
  | (s, _) :: a, ps :: cut => straight_ok p ps && all_straight (p * s) a cut
  | _, _ => true
  end.

Fixpoint same_layout (a b : layout) : bool :=
  match a, b with
  | [], [] => true
  | (n, d) :: a, (m, e) :: b => (n =? m) && (d =? e) && same_layout a b
  | _, _ => false
  end.

(** * Certificates *)

Inductive certificate :=
| Coalesced (a r : layout)
| Composed (by_bounds : bool) (a b : layout) (cut : list (list (Z * Z * Z)))
| NotComposed (a b : layout) (c : list Z)
| NotCut (a b : layout) (k : Z)
| Complemented (a r woven : layout) (covered : Z)
| RightInverse (by_bounds : bool) (a : layout) (ps : list (Z * Z * Z))
| LeftInverse (by_bounds : bool) (a r : layout) (cut : list (list (Z * Z * Z)))
| Divided (by_bounds : bool) (a b r woven : layout) (covered : Z) (cut : list (list (Z * Z * Z)))
| Produced (by_bounds : bool) (a b r woven : layout) (cut : list (list (Z * Z * Z))).

Definition complement_ok (a r woven : layout) (covered : Z) : bool :=
  permuted_ok woven (counted (a ++ r)) && ascending_ok 1 woven &&
  ((covered <=? 0) || (contiguous_ok 1 woven && (covered <=? end_of 1 woven))).

Fixpoint in_box (l : layout) (c : list Z) : bool :=
  match l, c with
  | [], [] => true
  | (n, _) :: rest, k :: more => (0 <=? k) && (k <? n) && in_box rest more
  | _, _ => false
  end.

(** The values along mode k of b are those of no layout: a run of equal steps does not divide what is left, or the runs that are
    found do not add up to a value. *)
Definition no_mode (a b : layout) (k : Z) : bool :=
  match nth_error b (Z.to_nat k) with
  | Some (s, d) =>
      match runs (fun i => at_ a (i * d)) s d (S (Z.to_nat s)) with
      | Some ps => existsb (fun i => negb (at_ (values ps) i =? at_ a (i * d))) (below s)
      | None => true
      end
  | None => false
  end.

Definition check (x : certificate) : bool :=
  match x with
  | Coalesced a r => all_positive a && (if size a =? 1 then all_positive r && (size r =? 1) else same_layout (coalesce a) r)
  | Composed by_bounds a b cut => all_positive b && composed_ok by_bounds a b cut
  | NotComposed a b c => all_positive a && all_positive b && in_box b c && negb (at_ a (offset b c) =? apart a b c)
  | NotCut a b k => all_positive a && all_positive b && (0 <=? k) && no_mode a b k
  | Complemented a r woven covered => complement_ok a r woven covered
  | RightInverse by_bounds a ps => all_positive a && contiguous_ok 1 (values ps) && linear_ok by_bounds a ps
  | LeftInverse by_bounds a r cut => all_positive a && composed_ok by_bounds r a cut && all_straight 1 a cut
  | Divided by_bounds a b r woven covered cut =>
      all_positive (b ++ r) && complement_ok b r woven covered && composed_ok by_bounds a (b ++ r) cut
  | Produced by_bounds a b r woven cut =>
      all_positive b && complement_ok a r woven 0 && composed_ok by_bounds r b cut
  end.

(** What each says. *)
Definition injective (l : layout) : Prop := forall c e, inside l c -> inside l e -> offset l c = offset l e -> c = e.

Definition claim (x : certificate) : Prop :=
  match x with
  | Coalesced a r => size r = size a /\ (forall i, 0 <= i < size a -> at_ r i = at_ a i) /\ (1 < size a -> irreducible r)
  | Composed _ a b cut => is_composition a b (map values cut)
  | NotComposed a b _ | NotCut a b _ => forall r, ~ is_composition a b r
  | Complemented a r _ covered =>
      injective (a ++ r) /\ (forall y, 0 <= y < covered -> exists c, inside (a ++ r) c /\ offset (a ++ r) c = y)
  | RightInverse _ a ps => forall i, 0 <= i < size (places ps) -> at_ a (at_ (places ps) i) = i
  | LeftInverse _ a r _ => forall c, inside a c -> at_ r (offset a c) = index a c
  | Divided _ a b r _ covered cut =>
      is_composition a (b ++ r) (map values cut) /\ injective (b ++ r) /\
      (forall y, 0 <= y < covered -> exists c, inside (b ++ r) c /\ offset (b ++ r) c = y)
  | Produced _ a b r _ cut => is_composition r b (map values cut) /\ injective (a ++ r)
  end.

(** * What the tests prove *)

Lemma all_positive_spec l : all_positive l = true -> positive l.
Proof. unfold all_positive, positive. rewrite forallb_forall, Forall_forall. intros H m Hm. apply Z.ltb_lt, H, Hm. Qed.

Lemma cuts_ok_spec s d ps : cuts_ok s d ps = true -> cuts s d ps.
Proof.
  revert s d. induction ps as [|[[n x] t] ps IH]; intros s d; cbn [cuts_ok cuts]; [apply Z.eqb_eq|].
  rewrite !andb_true_iff, Z.ltb_lt, !Z.eqb_eq. intros [[[Hn ->] Hm] H]. split; [exact Hn|]. split; [reflexivity|].
  exists (s / n). split; [apply Z.div_exact; lia | apply IH, H].
Qed.

Lemma all_cut_spec b cut : all_cut b cut = true -> cut_of b cut.
Proof.
  revert cut. induction b as [|[s d] b IH]; intros [|ps cut]; cbn [all_cut]; try discriminate; [constructor|].
  rewrite andb_true_iff. intros [H1 H2]. constructor; [apply cuts_ok_spec, H1 | apply IH, H2].
Qed.

Lemma linear_ok_spec by_bounds a ps : linear_ok by_bounds a ps = true -> linear_over a ps.
Proof.
  unfold linear_ok. rewrite andb_true_iff. intros [Hp H]. apply all_positive_spec in Hp. destruct by_bounds; [|apply holds_spec, H].
  apply andb_prop in H as [Hs Hb]. unfold steps_ok, bounds_ok in *. rewrite forallb_forall in Hs, Hb.
  assert (linear_over (merged a) ps) as L.
  { apply no_carry; [apply merged_positive, Hp | |].
    - apply Forall_forall. intros b Hin. apply Z.ltb_lt, Hb, Hin.
    - apply Forall_forall. intros [[n x] t] Hin. specialize (Hs _ Hin). cbn in Hs. apply orb_prop in Hs as [Hs|Hs].
      + left. apply Z.leb_le, Hs.
      + right. rewrite merged_correct by exact Hp. apply Z.eqb_eq, Hs. }
  intros c Hc. rewrite <- merged_correct by exact Hp. apply L, Hc.
Qed.

Lemma composed_ok_spec by_bounds a b cut : composed_ok by_bounds a b cut = true -> is_composition a b (map values cut).
Proof.
  unfold composed_ok. rewrite andb_true_iff. intros [Hc Hl].
  apply composition_sound; [apply all_cut_spec, Hc | apply linear_ok_spec in Hl; exact Hl].
Qed.

Lemma ascending_ok_spec reach l : ascending_ok reach l = true -> ascending reach l.
Proof.
  revert reach. induction l as [|[n d] l IH]; cbn [ascending_ok ascending]; intros reach; [trivial|].
  rewrite !andb_true_iff, Z.ltb_lt, Z.leb_le. intros [[Hn Hd] H]. auto.
Qed.

Lemma contiguous_ok_spec reach l : contiguous_ok reach l = true -> contiguous reach l.
Proof.
  revert reach. induction l as [|[n d] l IH]; cbn [contiguous_ok contiguous]; intros reach; [trivial|].
  rewrite !andb_true_iff, Z.ltb_lt, Z.eqb_eq. intros [[Hn Hd] H]. auto.
Qed.

Lemma taken_out_spec m l r : taken_out m l = Some r -> Permutation (m :: r) l.
Proof.
  revert r. induction l as [|k l IH]; cbn [taken_out]; intros r; [discriminate|].
  destruct ((fst k =? fst m) && (snd k =? snd m)) eqn:E.
  - injection 1 as <-. apply andb_prop in E as [E1 E2]. apply Z.eqb_eq in E1, E2. destruct k, m. cbn in *. subst. reflexivity.
  - destruct (taken_out m l) as [q|]; [|discriminate]. injection 1 as <-. rewrite perm_swap. constructor. apply IH. reflexivity.
Qed.

Lemma permuted_ok_spec a b : permuted_ok a b = true -> Permutation a b.
Proof.
  revert b. induction a as [|m a IH]; cbn [permuted_ok]; intros b; [destruct b; [constructor | discriminate]|].
  destruct (taken_out m b) as [r|] eqn:E; [|discriminate]. intros H. rewrite <- (taken_out_spec m b r E). constructor. apply IH, H.
Qed.

Lemma same_layout_spec a b : same_layout a b = true -> a = b.
Proof.
  revert b. induction a as [|[n d] a IH]; intros [|[m e] b]; cbn [same_layout]; try discriminate; [reflexivity|].
  rewrite !andb_true_iff, !Z.eqb_eq. intros [[-> ->] H]. f_equal. apply IH, H.
Qed.

Lemma in_box_spec l c : in_box l c = true -> inside l c.
Proof.
  revert c. induction l as [|[n d] l IH]; intros [|k c]; cbn [in_box inside]; try discriminate; [trivial|].
  rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. intros [[H1 H2] H]. auto.
Qed.

Fixpoint counted_digits (l : layout) (c : list Z) : list Z :=
  match l, c with
  | (n, _) :: l, k :: c => if n =? 1 then counted_digits l c else k :: counted_digits l c
  | _, _ => []
  end.

Fixpoint all_digits (l : layout) (c : list Z) : list Z :=
  match l with
  | [] => []
  | (n, _) :: l => if n =? 1 then 0 :: all_digits l c else match c with k :: c => k :: all_digits l c | [] => [] end
  end.

Lemma counted_spec l c : inside l c ->
  inside (counted l) (counted_digits l c) /\ offset (counted l) (counted_digits l c) = offset l c /\ all_digits l (counted_digits l c) = c.
Proof.
  revert c. induction l as [|[n d] l IH]; intros [|k c]; cbn [inside]; try contradiction; [cbn; auto|]. intros [Hk Hc].
  destruct (IH c Hc) as (I & O & A). unfold counted in *. cbn [filter fst counted_digits all_digits offset].
  destruct (Z.eqb_spec n 1) as [->|_]; cbn [negb].
  - replace k with 0 by lia. rewrite A, O. split; [exact I|]. split; [ring | reflexivity].
  - cbn [inside offset]. rewrite A, O. auto.
Qed.

Lemma all_digits_spec l c : inside (counted l) c -> inside l (all_digits l c) /\ offset l (all_digits l c) = offset (counted l) c.
Proof.
  revert c. induction l as [|[n d] l IH]; intros c; unfold counted in *; cbn [filter fst all_digits]; [intros H; destruct c; [auto | contradiction]|].
  destruct (Z.eqb_spec n 1) as [->|_]; cbn [negb].
  - intros H. destruct (IH c H) as [I O]. cbn [inside offset]. rewrite O. repeat split; (exact I || lia).
  - destruct c as [|k c]; cbn [inside]; [contradiction|]. intros [Hk H]. destruct (IH c H) as [I O]. cbn [inside offset].
    rewrite O. auto.
Qed.

Lemma complement_ok_spec a r woven covered : complement_ok a r woven covered = true ->
  injective (a ++ r) /\ (forall y, 0 <= y < covered -> exists c, inside (a ++ r) c /\ offset (a ++ r) c = y).
Proof.
  unfold complement_ok. rewrite !andb_true_iff. intros [[HP HA] HC]. set (l := a ++ r) in *.
  apply permuted_ok_spec in HP. apply ascending_ok_spec in HA.
  destruct (permuted_coordinates woven (counted l) HP) as (f & g & F & G). split.
  - intros c e Hc He E. destruct (counted_spec l c Hc) as (Kc & Pc & Ac). destruct (counted_spec l e He) as (Ke & Pe & Ae).
    destruct (G _ Kc) as (Ic & Oc & Fc). destruct (G _ Ke) as (Ie & Oe & Fe).
    rewrite <- Ac, <- Ae, <- Fc, <- Fe. do 2 f_equal. apply (ascending_injective woven); (assumption || congruence).
  - intros y Hy. apply orb_prop in HC as [HC|HC]; [apply Z.leb_le in HC; lia|]. apply andb_prop in HC as [HC HE].
    apply contiguous_ok_spec in HC. apply Z.leb_le in HE.
    destruct (contiguous_covers 1 woven y ltac:(lia) HC ltac:(lia)) as (x & c & Hx & Hi & ->).
    destruct (F c Hi) as (I & O & _). destruct (all_digits_spec l _ I) as [J P]. exists (all_digits l (f c)). split; [exact J | lia].
Qed.

Lemma no_mode_spec a b k : positive b -> no_mode a b k = true -> forall r, ~ is_composition a b r.
Proof.
  unfold no_mode. destruct (nth_error b (Z.to_nat k)) as [[s d]|] eqn:N; [|discriminate]. intros Hb H.
  apply (refused_by_mode a b (Z.to_nat k) s d Hb N). intros ps E. rewrite E in H.
  apply existsb_exists in H as (i & Hi & V). exists i. apply below_spec in Hi. apply negb_true_iff, Z.eqb_neq in V. auto.
Qed.

Lemma straight_at p s d ps k : cuts s d ps -> straight_ok p ps = true -> 0 <= k < s -> at_ (values ps) k = k * p.
Proof.
  revert p s d k. induction ps as [|[[n x] t] ps IH]; intros p s d k; cbn [cuts straight_ok].
  - intros -> _ Hk. replace k with 0 by lia. reflexivity.
  - rewrite andb_true_iff, Z.eqb_eq. intros (Hn & -> & s' & -> & Hc) [-> Hs] Hk. cbn [values map]. fold (values ps).
    destruct ps as [|q ps]; [cbn [values map at_]; ring|]. rewrite at_cons by discriminate.
    rewrite (IH (p * n) s' (d * n)); [|exact Hc|exact Hs|].
    + rewrite (Z.mod_eq k n) by lia. ring.
    + split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia].
Qed.

Lemma all_straight_index p a cut c : cut_of a cut -> all_straight p a cut = true -> inside a c ->
  nested (map values cut) c = p * index a c.
Proof.
  intros H. revert p c. induction H as [|[s d] ps a cut Hc H IH]; intros p [|k c]; cbn [inside]; try contradiction.
  - cbn. lia.
  - cbn [all_straight map nested index]. rewrite andb_true_iff. intros [Hs Ha] [Hk Hi]. cbn [fst snd] in *.
    rewrite (straight_at p s d) by assumption. rewrite (IH (p * s)) by assumption. ring.
Qed.

(** What the checker accepts is true. *)
Theorem check_sound x : check x = true -> claim x.
Proof.
  destruct x; cbn [check claim]; rewrite ?andb_true_iff.
  - intros [Hp E]. apply all_positive_spec in Hp. destruct (Z.eqb_spec (size a) 1) as [One|More].
    + apply andb_prop in E as [_ E]. apply Z.eqb_eq in E. rewrite E, One. split; [reflexivity|]. split; [|lia].
      intros i Hi. replace i with 0 by lia. rewrite !at_zero. reflexivity.
    + apply same_layout_spec in E as <-. split; [apply coalesce_size|].
      split; [intros i Hi; apply coalesce_correct; assumption | intros Hs; apply coalesce_irreducible; assumption].
  - intros [_ H]. apply composed_ok_spec in H. exact H.
  - intros [[[_ Hp] Hi] H]. apply all_positive_spec in Hp. apply in_box_spec in Hi. apply negb_true_iff, Z.eqb_neq in H.
    apply (refused_by_coordinate a b c); assumption.
  - intros [[[_ Hb] _] H]. apply all_positive_spec in Hb. apply (no_mode_spec a b k); assumption.
  - apply complement_ok_spec.
  - intros [[Hp Hc] H] i Hi. apply contiguous_ok_spec in Hc. apply linear_ok_spec in H.
    assert (positive (values ps)) as Hv by (eapply ascending_positive, contiguous_ascending; exact Hc).
    assert (positive (places ps)) as Hq by (apply values_positive, Hv).
    rewrite (at_digits (places ps)) by assumption. rewrite H by (apply digits_inside, Hq).
    rewrite (chain_index 1) by (rewrite <- ?values_digits; (exact Hc || apply digits_inside, Hv)).
    rewrite <- values_digits, index_digits; [ring | exact Hv | rewrite values_size; exact Hi].
  - intros [[Hp H] Hs] c Hc. unfold composed_ok in H. apply andb_prop in H as [Hcut HL].
    apply all_cut_spec in Hcut. apply linear_ok_spec in HL. destruct (composition_sound r a cut Hcut HL) as [_ V].
    rewrite <- V by exact Hc. rewrite (all_straight_index 1 a) by assumption. ring.
  - intros [[Hp HC] H]. apply composed_ok_spec in H. apply complement_ok_spec in HC. tauto.
  - intros [[Hp HC] H]. apply composed_ok_spec in H. apply complement_ok_spec in HC. tauto.
Qed.
