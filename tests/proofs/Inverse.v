(** Inverses and divides. An inverse is a composition that is the identity: A after R for a right inverse, R after A for a left one.
    A divide is a composition with a tile and its complement, a product the copies of a tile at a complement. *)

From Coq Require Import ZArith List Lia Permutation.
From Tla Require Import Layout Composition Complement.
Import ListNotations.
Open Scope Z_scope.

(** * Right inverse *)

(** The modes (extent, stride) of A in an order, each with the place at which it begins in A's domain. *)
Fixpoint placed (p : Z) (l : layout) : list (Z * Z * Z) :=
  match l with
  | [] => []
  | (n, d) :: rest => (n, p, d) :: placed (p * n) rest
  end.

Lemma placed_values p l : values (placed p l) = l.
Proof. revert p. induction l as [|[n d] l IH]; intros p; cbn; [reflexivity|]. f_equal. apply IH. Qed.

Lemma placed_index p l c : inside l c -> offset (places (placed p l)) c = p * index l c.
Proof.
  revert p c. induction l as [|[n d] l IH]; intros p [|k c]; cbn [inside]; try contradiction; [cbn; lia|].
  intros [Hk Hc]. cbn [placed places map offset index]. fold (places (placed (p * n) l)). rewrite IH by assumption. ring.
Qed.

(** A is linear over its own modes, in whatever order they are taken, and over some of them. *)
Theorem own_modes_linear a : positive a -> linear_over a (placed 1 a).
Proof.
  intros Ha c Hc. rewrite <- values_shape, placed_values in Hc.
  rewrite placed_index, placed_values by assumption. rewrite Z.mul_1_l. apply at_index; assumption.
Qed.

Inductive some_of {X} : list X -> list X -> Prop :=
| none_of : forall l, some_of [] l
| taken : forall x s l l', Permutation l' (x :: l) -> some_of s l -> some_of (x :: s) l'.

Lemma linear_permuted a ps qs : Permutation ps qs -> linear_over a ps -> linear_over a qs.
Proof.
  intros HP HL c Hc.
  assert (Permutation (places ps) (places qs)) as P1 by (apply Permutation_map, HP).
  (* one coordinate map for places and values: permute triples as modes of two strides *)
  assert (exists e, inside (places ps) e /\ offset (places ps) e = offset (places qs) c /\ offset (values ps) e = offset (values qs) c) as (e & He & O & V).
  { clear HL P1. revert c Hc. induction HP as [|[[n x] t] ps qs HP IH|[[n x] t] [[m y] u] l|ps qs rs HP1 IH1 HP2 IH2]; intros c Hc.
    - exists c. auto.
    - destruct c as [|k c]; cbn [places map inside] in Hc; [contradiction|]. destruct Hc as [Hk Hc]. destruct (IH c Hc) as (e & He & O & V).
      exists (k :: e). cbn [places values map inside offset]. fold (places ps) (values ps) (places qs) (values qs). rewrite O, V. auto.
    - destruct c as [|k [|j c]]; cbn [places map inside] in Hc; try tauto. destruct Hc as (Hk & Hj & Hc).
      exists (j :: k :: c). cbn [places values map inside offset]. repeat split; (tauto || lia).
    - destruct (IH2 c Hc) as (e & He & O & V). destruct (IH1 e He) as (g & Hg & O' & V'). exists g. repeat split; [exact Hg | congruence..]. }
  rewrite <- O, <- V. apply HL, He.
Qed.

Lemma linear_tail a p ps : 0 < fst (fst p) -> linear_over a (p :: ps) -> linear_over a ps.
Proof.
  destruct p as [[n x] t]. cbn. intros Hn H c Hc. specialize (H (0 :: c)). cbn [places values map inside offset] in H.
  fold (places ps) (values ps) in H. rewrite !Z.mul_0_l, !Z.add_0_l in H. apply H. split; [lia | exact Hc].
Qed.

Lemma linear_some a ps qs : Forall (fun p => 0 < fst (fst p)) ps -> some_of qs ps -> linear_over a ps -> linear_over a qs.
Proof.
  intros Hp H HL.
  assert (exists rest, Permutation ps (rest ++ qs)) as [rest P].
  { clear Hp HL. induction H as [l|x s l l' P H (rest & R)]; [exists l; rewrite app_nil_r; reflexivity|].
    exists rest. rewrite P, R. apply Permutation_middle. }
  assert (Forall (fun p => 0 < fst (fst p)) (rest ++ qs)) as Hr by (eapply Permutation_Forall; eassumption).
  apply (linear_permuted a ps _ P) in HL. clear P H Hp. induction rest as [|p rest IH]; [exact HL|].
  inversion Hr as [|? ? H1 H2]; subst. apply IH; [eapply linear_tail; [exact H1 | exact HL] | exact H2].
Qed.

(** The chain of modes that follow one another: the first of stride 1, the next where it ends, and so on. What
    tla/algebra/inverse_digits.py takes first. *)
Definition chain (ps : list (Z * Z * Z)) : Prop := contiguous 1 (values ps).

Definition inverse_of (ps : list (Z * Z * Z)) : layout := places ps.

Lemma chain_index reach ps c : contiguous reach (values ps) -> inside (values ps) c -> offset (values ps) c = reach * index (values ps) c.
Proof.
  revert reach c. induction ps as [|[[n x] t] ps IH]; intros reach [|k c]; cbn [values map inside contiguous]; try contradiction.
  - cbn. lia.
  - fold (values ps). intros (Hn & -> & H) [Hk Hc]. cbn [offset index]. rewrite (IH (n * t)) by assumption. ring.
Qed.

Theorem right_inverse_correct a ps i :
  positive a -> some_of ps (placed 1 a) -> chain ps -> 0 <= i < size (inverse_of ps) -> at_ a (at_ (inverse_of ps) i) = i.
Proof.
  intros Ha Hs Hc Hi. unfold inverse_of in *.
  assert (positive (values ps)) as Hv by (eapply ascending_positive, contiguous_ascending; exact Hc).
  assert (positive (places ps)) as Hp by (apply values_positive, Hv).
  assert (linear_over a ps) as HL.
  { apply (linear_some a (placed 1 a)); [|exact Hs | apply own_modes_linear, Ha].
    clear -Ha. generalize 1. induction a as [|[n d] a IH]; intros p; cbn [placed]; [constructor|].
    rewrite positive_cons in Ha. constructor; [apply Ha | apply IH, Ha]. }
  rewrite (at_digits (places ps)) by assumption. rewrite HL by (apply digits_inside, Hp).
  rewrite (chain_index 1) by (rewrite <- ?values_digits; (exact Hc || apply digits_inside, Hv)).
  rewrite <- values_digits, index_digits; [ring | exact Hv | rewrite values_size; exact Hi].
Qed.

(** No right inverse goes past an offset that the layout does not have. *)
Theorem right_inverse_bounded a r v :
  positive r -> (forall x, at_ a x <> v) -> 0 <= v -> (forall i, 0 <= i < size r -> at_ a (at_ r i) = i) -> size r <= v.
Proof. intros Hr Hn Hv H. destruct (Z.le_gt_cases (size r) v) as [L|G]; [exact L|]. exfalso. apply (Hn (at_ r v)), H. lia. Qed.

(** * Left inverse *)

(** The modes of A in the order of their strides, each stride a multiple of where the mode before it ends: R has a mode up to each
    stride, whose step is the place of the mode before. What left_inverse of tla/algebra/inverse.py builds. *)
Fixpoint left_modes (period place last : Z) (ps : list (Z * Z * Z)) : layout :=
  match ps with
  | [] => [(last, place)]
  | (s, at', d) :: rest => (d / period, place) :: left_modes d at' s rest
  end.

(** Strides divide one another, and each mode fits below the next. *)
Fixpoint divides_up (period last : Z) (ps : list (Z * Z * Z)) : Prop :=
  match ps with
  | [] => 0 < last
  | (s, _, d) :: rest => 0 < last /\ 0 < d /\ d mod period = 0 /\ last <= d / period /\ divides_up d s rest
  end.

Theorem left_inverse_correct ps period place last c k :
  0 < period -> divides_up period last ps -> inside (values ps) c -> 0 <= k < last ->
  at_ (left_modes period place last ps) (k + offset (values ps) c / period) = k * place + offset (places ps) c.
Proof.
  revert period place last c k. induction ps as [|[[s p] d] ps IH]; intros period place last [|j c] k Hp; cbn [values map inside]; try contradiction.
  - intros _ _ _. cbn [left_modes at_ offset places map]. rewrite Zdiv_0_l. ring.
  - cbn [divides_up left_modes]. fold (values ps). intros (Hl & Hd & Hm & Hfit & H) [Hj Hc] Hk.
    rewrite at_cons by (destruct ps as [|[[? ?] ?] ?]; discriminate).
    apply Z.div_exact in Hm; [|lia]. set (q := d / period) in *. assert (0 < q) by nia.
    cbn [offset places map]. fold (places ps).
    assert ((j * d + offset (values ps) c) / period = (j + offset (values ps) c / d) * q) as E.
    { assert (exists o, offset (values ps) c = d * o) as [o ->].
      { clear -H Hc Hd. revert d s c Hd H Hc. induction ps as [|[[t u] e] ps IH]; intros d s [|i c] Hd; cbn [values map inside offset]; try contradiction.
        - intros. exists 0. ring.
        - cbn [divides_up]. fold (values ps). intros (_ & He & Hm & _ & H) [_ Hc]. destruct (IH e t c He H Hc) as [o ->].
          apply Z.div_exact in Hm; [|lia]. exists (i * (e / d) + e / d * o). nia. }
      rewrite (Z.mul_comm d o), Z.div_mul by lia. rewrite Hm at 1 2.
      replace (j * (period * q) + o * (period * q)) with ((j + o) * q * period) by ring. rewrite Z.div_mul by lia. reflexivity. }
    rewrite E. rewrite Z.mod_add, Z.div_add by lia. rewrite Z.mod_small, Z.div_small by lia. rewrite Z.add_0_l.
    rewrite (IH d p s c j) by assumption. ring.
Qed.
