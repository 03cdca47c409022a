(** Divides and products are compositions with a tile and its complement. *)

From Coq Require Import ZArith List Lia Permutation.
From Tla Require Import Layout Composition Complement.
Import ListNotations.
Open Scope Z_scope.

(** logical_divide(A, B) is A after (B, B'): at tile coordinate c and rest e it has A's value at B(c) + B'(e). *)
Theorem divide_values a b n r c e :
  is_composition a (b ++ complement n b) r -> inside b c -> inside (complement n b) e ->
  nested r (c ++ e) = at_ a (offset b c + offset (complement n b) e).
Proof. intros [_ H] Hc He. rewrite H by (apply inside_app; assumption). rewrite offset_app by assumption. reflexivity. Qed.

(** Every place of A below n is in one tile, at one coordinate: a divide keeps each value, and doubles none. *)
Theorem divide_covers a b n r x :
  0 < n -> whole_gaps 1 b -> is_composition a (b ++ complement n b) r -> 0 <= x < n ->
  exists c, inside (b ++ complement n b) c /\ offset (b ++ complement n b) c = x /\ nested r c = at_ a x /\
  forall e, inside (b ++ complement n b) e -> offset (b ++ complement n b) e = x -> e = c.
Proof.
  intros Hn Hg Hr Hx. destruct (complement_covers n b x Hn Hg Hx) as (c & Hi & Ho). exists c.
  split; [exact Hi|]. split; [exact Ho|]. split; [destruct Hr as [_ H]; rewrite H, Ho by exact Hi; reflexivity|].
  intros e He Hoe. apply (complement_disjoint n b); [exact Hn | apply whole_gaps_ascending; [lia | exact Hg] | exact He | exact Hi | congruence].
Qed.

(** logical_product(A, B) is (A, A' after B): B says which of the copies of A that A' has. No offset is met twice. *)
Theorem product_injective a b n r c d j k :
  0 < n -> ascending 1 a -> is_composition (complement n a) b r ->
  (forall u v, inside b u -> inside b v -> offset b u = offset b v -> u = v) ->
  (forall u, inside b u -> 0 <= offset b u < size (complement n a)) ->
  inside a c -> inside a d -> inside b j -> inside b k ->
  offset a c + nested r j = offset a d + nested r k -> c = d /\ j = k.
Proof.
  intros Hn Ha [_ Hr] Hb Hin Hc Hd Hj Hk E. rewrite !Hr in E by assumption.
  pose proof (ascending_positive 1 _ (complement_ordered n a Hn Ha)) as Hp.
  rewrite !at_digits in E by auto.
  pose proof (digits_inside (complement n a) (offset b j) Hp) as Ij. pose proof (digits_inside (complement n a) (offset b k) Hp) as Ik.
  assert (c ++ digits (complement n a) (offset b j) = d ++ digits (complement n a) (offset b k)) as S.
  { apply (complement_disjoint n a); [assumption..| | |]; [apply inside_app; assumption..|]. rewrite !offset_app by assumption. exact E. }
  assert (length c = length d) as L by (rewrite (inside_length a c Hc), (inside_length a d Hd); reflexivity).
  assert (c = d /\ digits (complement n a) (offset b j) = digits (complement n a) (offset b k)) as [-> D].
  { clear -S L. revert d S L. induction c as [|x c IH]; intros [|y d] S L; cbn in *; try lia; [auto|].
    injection S as -> S. destruct (IH d S ltac:(lia)) as [-> ->]. auto. }
  split; [reflexivity|]. apply Hb; [assumption..|].
  rewrite <- (index_digits (complement n a) (offset b j) Hp), <- (index_digits (complement n a) (offset b k) Hp) by auto.
  rewrite D. reflexivity.
Qed.
