(** Swizzles: XOR a field of bits into another one. CuTe's Swizzle<B,M,S> takes b = B bits from position M + S into position M for a
    positive S, and from M into M - S for a negative one. *)

From Coq Require Import ZArith List Lia Bool.
From Tla Require Import Layout.
Import ListNotations.
Open Scope Z_scope.

(** b bits at `from` are XORed into the bits at `to`. *)
Definition swizzle (b to from x : Z) : Z := Z.lxor x (Z.shiftl (Z.land (Z.shiftr x from) (Z.ones b)) to).

(** The two fields share no bit. *)
Definition apart_fields (b to from : Z) : Prop := 0 <= b /\ 0 <= to /\ 0 <= from /\ (to + b <= from \/ from + b <= to).

Lemma swizzle_bit b to from x i : 0 <= b -> 0 <= to -> 0 <= from -> 0 <= i ->
  Z.testbit (swizzle b to from x) i =
  if (to <=? i) && (i <? to + b) then xorb (Z.testbit x i) (Z.testbit x (i - to + from)) else Z.testbit x i.
Proof.
  intros Hb Ht Hf Hi. unfold swizzle. rewrite Z.lxor_spec.
  destruct (Z.leb_spec to i) as [L|L]; cbn [andb].
  - rewrite Z.shiftl_spec, Z.land_spec, Z.shiftr_spec by lia. destruct (Z.ltb_spec i (to + b)) as [U|U].
    + rewrite Z.ones_spec_low by lia. rewrite andb_true_r. reflexivity.
    + rewrite Z.ones_spec_high by lia. rewrite andb_false_r, xorb_false_r. reflexivity.
  - rewrite Z.shiftl_spec_low by lia. apply xorb_false_r.
Qed.

Theorem swizzle_involution b to from x : apart_fields b to from -> swizzle b to from (swizzle b to from x) = x.
Proof.
  intros (Hb & Ht & Hf & Ha). apply Z.bits_inj'. intros i Hi. rewrite swizzle_bit by lia.
  destruct ((to <=? i) && (i <? to + b)) eqn:E.
  - apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1. apply Z.ltb_lt in E2.
    rewrite !swizzle_bit by lia. replace ((to <=? i) && (i <? to + b)) with true by (symmetry; rewrite andb_true_iff, Z.leb_le, Z.ltb_lt; lia).
    replace ((to <=? i - to + from) && (i - to + from <? to + b)) with false.
    + rewrite xorb_assoc, xorb_nilpotent, xorb_false_r. reflexivity.
    + symmetry. rewrite andb_false_iff, Z.leb_gt, Z.ltb_ge. lia.
  - rewrite swizzle_bit by lia. rewrite E. reflexivity.
Qed.

Corollary swizzle_injective b to from x y : apart_fields b to from -> swizzle b to from x = swizzle b to from y -> x = y.
Proof. intros H E. rewrite <- (swizzle_involution b to from x H), E. apply swizzle_involution, H. Qed.

(** Linear over XOR. *)
Theorem swizzle_xor b to from x y : 0 <= b -> 0 <= to -> 0 <= from ->
  swizzle b to from (Z.lxor x y) = Z.lxor (swizzle b to from x) (swizzle b to from y).
Proof.
  intros. apply Z.bits_inj'. intros i Hi. rewrite Z.lxor_spec, !swizzle_bit, !Z.lxor_spec by lia.
  destruct ((to <=? i) && (i <? to + b)); [|reflexivity].
  destruct (Z.testbit x i), (Z.testbit y i), (Z.testbit x (i - to + from)), (Z.testbit y (i - to + from)); reflexivity.
Qed.

(** Where no bit of `from` is set, nothing moves. *)
Theorem swizzle_still b to from x : 0 <= b -> 0 <= to -> 0 <= from ->
  (forall i, from <= i < from + b -> Z.testbit x i = false) -> swizzle b to from x = x.
Proof.
  intros Hb Ht Hf H. apply Z.bits_inj'. intros i Hi. rewrite swizzle_bit by lia.
  destruct ((to <=? i) && (i <? to + b)) eqn:E; [|reflexivity].
  apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1. apply Z.ltb_lt in E2. rewrite (H (i - to + from)) by lia. apply xorb_false_r.
Qed.

(** It stays in a block of 2^k numbers whose bits hold both fields: what is above is carried along. *)
Theorem swizzle_block b to from k x y : 0 <= b -> 0 <= to -> 0 <= from -> to + b <= k -> from + b <= k -> 0 <= x < 2 ^ k ->
  0 <= swizzle b to from x < 2 ^ k /\ swizzle b to from (x + y * 2 ^ k) = swizzle b to from x + y * 2 ^ k.
Proof.
  intros Hb Ht Hf Htk Hfk Hx. assert (0 < 2 ^ k) as Hpow by (apply Z.pow_pos_nonneg; lia).
  assert (forall z i, 0 <= i < k -> Z.testbit (x + z * 2 ^ k) i = Z.testbit x i) as Low.
  { intros z i Hi. rewrite <- (Z.mod_pow2_bits_low (x + z * 2 ^ k) k i) by lia. rewrite Z.mod_add by lia. apply Z.mod_pow2_bits_low. lia. }
  assert (swizzle b to from x mod 2 ^ k = swizzle b to from x) as Hmod.
  { apply Z.bits_inj'. intros i Hi. destruct (Z.lt_ge_cases i k) as [L|G]; [apply Z.mod_pow2_bits_low, L|].
    rewrite Z.mod_pow2_bits_high by lia. rewrite swizzle_bit by lia.
    replace ((to <=? i) && (i <? to + b)) with false by (symmetry; rewrite andb_false_iff, Z.leb_gt, Z.ltb_ge; lia).
    rewrite <- (Z.mod_small x (2 ^ k)) by lia. symmetry. apply Z.mod_pow2_bits_high. lia. }
  pose proof (Z.mod_pos_bound (swizzle b to from x) (2 ^ k) Hpow) as Hn. rewrite Hmod in Hn.
  split; [lia|].
  apply Z.bits_inj'. intros i Hi. rewrite swizzle_bit by lia. destruct (Z.lt_ge_cases i k) as [L|G].
  - assert (Z.testbit (swizzle b to from x + y * 2 ^ k) i = Z.testbit (swizzle b to from x) i) as ->.
    { rewrite <- (Z.mod_pow2_bits_low (swizzle b to from x + y * 2 ^ k) k i) by lia. rewrite Z.mod_add by lia. rewrite Z.mod_small by lia. reflexivity. }
    rewrite swizzle_bit by lia. rewrite (Low y i) by lia.
    destruct ((to <=? i) && (i <? to + b)) eqn:E; [|reflexivity].
    apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1. apply Z.ltb_lt in E2. rewrite (Low y (i - to + from)) by lia. reflexivity.
  - replace ((to <=? i) && (i <? to + b)) with false by (symmetry; rewrite andb_false_iff, Z.leb_gt, Z.ltb_ge; lia).
    assert (forall u, 0 <= u < 2 ^ k -> Z.testbit (u + y * 2 ^ k) i = Z.testbit y (i - k)) as High.
    { intros u Hu. replace i with (i - k + k) at 1 by ring. rewrite <- Z.shiftr_spec by lia. rewrite Z.shiftr_div_pow2 by lia.
      rewrite Z.div_add by lia. rewrite Z.div_small by lia. rewrite Z.add_0_l. reflexivity. }
    rewrite !High by lia. reflexivity.
Qed.

(** Of numbers in units of 2^k: recast. *)
Theorem swizzle_scaled b to from k x : 0 <= b -> 0 <= k -> 0 <= to -> 0 <= from ->
  swizzle b (to + k) (from + k) (x * 2 ^ k) = swizzle b to from x * 2 ^ k.
Proof.
  intros. rewrite <- !Z.shiftl_mul_pow2 by lia. apply Z.bits_inj'. intros i Hi. rewrite swizzle_bit by lia.
  destruct (Z.lt_ge_cases i k) as [L|G].
  - rewrite (Z.shiftl_spec_low x), (Z.shiftl_spec_low (swizzle b to from x)) by lia. replace (to + k <=? i) with false by (symmetry; apply Z.leb_gt; lia). reflexivity.
  - rewrite (Z.shiftl_spec x), (Z.shiftl_spec (swizzle b to from x)) by lia. rewrite swizzle_bit by lia.
    replace (to + k <=? i) with (to <=? i - k) by (apply eq_true_iff_eq; rewrite !Z.leb_le; lia).
    replace (i <? to + k + b) with (i - k <? to + b) by (apply eq_true_iff_eq; rewrite !Z.ltb_lt; lia).
    destruct ((to <=? i - k) && (i - k <? to + b)) eqn:E; [|reflexivity].
    apply andb_prop in E as [E1 E2]. apply Z.leb_le in E1. apply Z.ltb_lt in E2. rewrite Z.shiftl_spec by lia.
    do 2 f_equal. lia.
Qed.

(** Through a layout: where the terms of an offset share no bits, their sum is their XOR, and the swizzle goes to each term. *)
Fixpoint xors (l : layout) (c : list Z) (f : Z -> Z) : Z :=
  match l, c with
  | (_, d) :: rest, k :: more => Z.lxor (f (k * d)) (xors rest more f)
  | _, _ => 0
  end.

Fixpoint no_common_bits (l : layout) (c : list Z) : Prop :=
  match l, c with
  | (_, d) :: rest, k :: more => Z.land (k * d) (offset rest more) = 0 /\ no_common_bits rest more
  | _, _ => True
  end.

Lemma offset_xors l c : no_common_bits l c -> offset l c = xors l c (fun x => x).
Proof.
  revert c. induction l as [|[n d] l IH]; intros [|k c]; cbn [no_common_bits offset xors]; try reflexivity.
  intros [H Hc]. rewrite Z.add_nocarry_lxor by exact H. rewrite IH by exact Hc. reflexivity.
Qed.

Theorem swizzle_through b to from l c : 0 <= b -> 0 <= to -> 0 <= from -> no_common_bits l c ->
  swizzle b to from (offset l c) = xors l c (swizzle b to from).
Proof.
  intros Hb Ht Hf H. rewrite offset_xors by exact H. clear H. revert c.
  induction l as [|[n d] l IH]; intros [|k c]; cbn [xors]; try (unfold swizzle; rewrite Z.shiftr_0_l, Z.land_0_l, Z.shiftl_0_l; reflexivity).
  rewrite swizzle_xor by assumption. rewrite IH. reflexivity.
Qed.
