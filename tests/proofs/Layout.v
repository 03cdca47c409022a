(** Layouts: lists of modes (extent, stride) over Z, first mode fastest, and the function that a layout is.

    Strides are any integers: negative ones and zero too. Extents are positive. Past its size a layout goes on along its last
    mode, and below zero too: division rounds down, as in Python. *)

From Coq Require Import ZArith List Lia Permutation.
Import ListNotations.
Open Scope Z_scope.

Notation mode := (Z * Z)%type (only parsing).
Notation layout := (list (Z * Z)) (only parsing).

Definition positive (l : layout) := Forall (fun m => 0 < fst m) l.

Fixpoint size (l : layout) : Z :=
  match l with
  | [] => 1
  | (n, _) :: rest => n * size rest
  end.

(** The offset of an index. The last mode is not reduced: its digit is what is left of the index. *)
Fixpoint at_ (l : layout) (x : Z) : Z :=
  match l with
  | [] => 0
  | [(_, d)] => x * d
  | (n, d) :: rest => x mod n * d + at_ rest (x / n)
  end.

(** A coordinate has one digit for each mode. Its offset is a sum of products, and it has an index. *)
Fixpoint inside (l : layout) (c : list Z) : Prop :=
  match l, c with
  | [], [] => True
  | (n, _) :: rest, k :: more => 0 <= k < n /\ inside rest more
  | _, _ => False
  end.

Fixpoint offset (l : layout) (c : list Z) : Z :=
  match l, c with
  | (_, d) :: rest, k :: more => k * d + offset rest more
  | _, _ => 0
  end.

Fixpoint index (l : layout) (c : list Z) : Z :=
  match l, c with
  | (n, _) :: rest, k :: more => k + n * index rest more
  | _, _ => 0
  end.

Fixpoint digits (l : layout) (x : Z) : list Z :=
  match l with
  | [] => []
  | (n, _) :: rest => x mod n :: digits rest (x / n)
  end.

Lemma positive_cons n d l : positive ((n, d) :: l) <-> 0 < n /\ positive l.
Proof. unfold positive. split; [inversion 1 | constructor]; simpl in *; intuition. Qed.

Lemma size_positive l : positive l -> 0 < size l.
Proof. induction l as [|[n d] l IH]; simpl; [lia|]. rewrite positive_cons. intros [? ?]. specialize (IH H0). nia. Qed.

Lemma size_app a b : size (a ++ b) = size a * size b.
Proof. induction a as [|[n d] a IH]; cbn [app size]; [destruct (size b); reflexivity|]. rewrite IH. ring. Qed.

Lemma at_cons n d l x : l <> [] -> at_ ((n, d) :: l) x = x mod n * d + at_ l (x / n).
Proof. destruct l; [congruence | reflexivity]. Qed.

Lemma at_zero l : at_ l 0 = 0.
Proof.
  induction l as [|[n d] l IH]; [reflexivity|].
  destruct l; [reflexivity|]. rewrite at_cons by discriminate. rewrite Zmod_0_l, Zdiv_0_l, IH. reflexivity.
Qed.

(** Digit by digit, an index inside of the size has a coordinate, and its offset is the layout's. *)
Lemma digits_inside l x : positive l -> inside l (digits l x).
Proof.
  revert x. induction l as [|[n d] l IH]; intros x; cbn [digits inside]; [trivial|]. rewrite positive_cons.
  intros [Hn Hl]. split; [apply Z.mod_pos_bound; lia | apply IH, Hl].
Qed.

Lemma index_bound l c : positive l -> inside l c -> 0 <= index l c < size l.
Proof.
  revert c. induction l as [|[n d] l IH]; intros [|k c]; cbn [inside index size]; try lia; try contradiction.
  rewrite positive_cons. intros [Hn Hl] [Hk Hc]. specialize (IH c Hl Hc). nia.
Qed.

Lemma index_digits l x : positive l -> 0 <= x < size l -> index l (digits l x) = x.
Proof.
  revert x. induction l as [|[n d] l IH]; intros x; cbn [size digits index]; [lia|]. rewrite positive_cons. intros [Hn Hl] Hx.
  rewrite IH; [|exact Hl|].
  - pose proof (Z.div_mod x n). lia.
  - split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia].
Qed.

Lemma digits_index l c : positive l -> inside l c -> digits l (index l c) = c.
Proof.
  revert c. induction l as [|[n d] l IH]; intros [|k c]; cbn [inside digits index]; try contradiction; [reflexivity|].
  rewrite positive_cons. intros [Hn Hl] [Hk Hc].
  replace (k + n * index l c) with (k + index l c * n) by ring.
  rewrite Z.div_add, Z.mod_add by lia. rewrite Z.mod_small, Z.div_small by lia. rewrite Z.add_0_l, IH by assumption. reflexivity.
Qed.

Lemma at_index l c : positive l -> inside l c -> at_ l (index l c) = offset l c.
Proof.
  revert c. induction l as [|[n d] l IH]; intros [|k c]; cbn [inside]; try contradiction; [reflexivity|].
  rewrite positive_cons. intros [Hn Hl] [Hk Hc].
  destruct l as [|m l]; [destruct c; [|contradiction]; cbn [index at_ offset]; ring|].
  rewrite at_cons by discriminate.
  change (index ((n, d) :: m :: l) (k :: c)) with (k + n * index (m :: l) c).
  change (offset ((n, d) :: m :: l) (k :: c)) with (k * d + offset (m :: l) c).
  replace (k + n * index (m :: l) c) with (k + index (m :: l) c * n) by ring.
  rewrite Z.div_add, Z.mod_add by lia. rewrite Z.mod_small, Z.div_small by lia.
  rewrite Z.add_0_l, IH by assumption. reflexivity.
Qed.

Theorem at_digits l x : positive l -> 0 <= x < size l -> at_ l x = offset l (digits l x).
Proof.
  intros Hl Hx. rewrite <- (index_digits l x Hl Hx) at 1. apply at_index; [exact Hl | apply digits_inside, Hl].
Qed.

(** * Coalesce *)

(** One step: two neighbours become one mode where the second goes on where the first ends. It changes no value, at any integer,
    inside of the size or not. *)
Lemma merge_two n d m x : 0 < n -> 0 < m -> at_ [(n, d); (m, n * d)] x = at_ [(n * m, d)] x.
Proof. intros. cbn [at_]. pose proof (Z.div_mod x n). nia. Qed.

Lemma mod_mul x n m : 0 < n -> 0 < m -> x mod (n * m) = x mod n + n * (x / n mod m).
Proof. intros. apply Z.rem_mul_r; lia. Qed.

Lemma merge_head n d m l x : 0 < n -> 0 < m -> at_ ((n, d) :: (m, n * d) :: l) x = at_ ((n * m, d) :: l) x.
Proof.
  intros Hn Hm. destruct l as [|k l]; [apply merge_two; assumption|].
  rewrite !at_cons by discriminate. rewrite mod_mul, Z.div_div by lia. ring.
Qed.

Lemma drop_one d l x : l <> [] -> at_ ((1, d) :: l) x = at_ l x.
Proof. intros. rewrite at_cons by assumption. rewrite Z.mod_1_r, Z.div_1_r. ring. Qed.

(** The modes coalesced, by the mode (n, d) that grows: what tla/core/digits.py does. *)
Fixpoint coalesced (n d : Z) (l : layout) : layout :=
  match l with
  | [] => [(n, d)]
  | (m, e) :: rest =>
      if m =? 1 then match rest with [] => [(n, d)] | _ => coalesced n d rest end
      else if n =? 1 then coalesced m e rest
      else if e =? n * d then coalesced (n * m) d rest
      else (n, d) :: coalesced m e rest
  end.

Definition coalesce (l : layout) : layout :=
  match l with
  | [] => []
  | (n, d) :: rest => coalesced n d rest
  end.

Lemma coalesced_nonempty n d l : coalesced n d l <> [].
Proof.
  revert n d. induction l as [|[m e] l IH]; intros n d; cbn [coalesced]; [discriminate|].
  destruct (m =? 1); [destruct l; [discriminate | apply IH]|].
  destruct (n =? 1); [apply IH|]. destruct (e =? n * d); [apply IH | discriminate].
Qed.

(** On the domain, the result is the same function; its last mode may be another past the end if the last extent is 1. *)
Lemma coalesced_size n d l : size (coalesced n d l) = n * size l.
Proof.
  revert n d. induction l as [|[m e] l IH]; intros n d; cbn [coalesced size]; [ring|].
  destruct (Z.eqb_spec m 1) as [->|Hm1].
  { destruct l; [cbn [size]; ring|]. rewrite IH. ring. }
  destruct (Z.eqb_spec n 1) as [->|Hn1]; [rewrite IH; ring|].
  destruct (e =? n * d); [rewrite IH; ring|]. cbn [size]. rewrite IH. reflexivity.
Qed.

Lemma at_small n d l x : 0 <= x < n -> at_ ((n, d) :: l) x = x * d.
Proof.
  intros. destruct l; [reflexivity|]. rewrite at_cons by discriminate.
  rewrite Z.mod_small, Z.div_small by lia. rewrite at_zero. ring.
Qed.

Theorem coalesced_correct n d l x :
  0 < n -> positive l -> 0 <= x < n * size l -> at_ (coalesced n d l) x = at_ ((n, d) :: l) x.
Proof.
  revert n d x. induction l as [|[m e] l IH]; intros n d x Hn; [reflexivity|].
  rewrite positive_cons. intros [Hm Hl] Hx. cbn [coalesced size] in *. pose proof (size_positive l Hl).
  destruct (Z.eqb_spec m 1) as [->|Hm1].
  { destruct l as [|p l]; [cbn [size] in Hx; rewrite (at_small n d [(1, e)] x) by lia; reflexivity|].
    rewrite IH by (assumption || lia). rewrite !at_cons by discriminate. rewrite Z.mod_1_r, Z.div_1_r. ring. }
  destruct (Z.eqb_spec n 1) as [->|Hn1].
  { rewrite IH by (assumption || lia). rewrite drop_one by discriminate. reflexivity. }
  destruct (Z.eqb_spec e (n * d)) as [->|He].
  { rewrite IH; [|nia|assumption|nia]. symmetry. apply merge_head; assumption. }
  rewrite !at_cons by (apply coalesced_nonempty || discriminate). rewrite IH; [reflexivity|assumption|assumption|].
  split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia].
Qed.

Theorem coalesce_correct l x : positive l -> 0 <= x < size l -> at_ (coalesce l) x = at_ l x.
Proof.
  destruct l as [|[n d] l]; [reflexivity|]. rewrite positive_cons. intros [Hn Hl] Hx. apply coalesced_correct; assumption.
Qed.

Theorem coalesce_size l : size (coalesce l) = size l.
Proof. destruct l as [|[n d] l]; [reflexivity|]. apply coalesced_size. Qed.

Lemma coalesced_positive n d l : 0 < n -> positive l -> positive (coalesced n d l).
Proof.
  revert n d. induction l as [|[m e] l IH]; intros n d Hn; cbn [coalesced].
  - intros _. rewrite positive_cons. split; [exact Hn | constructor].
  - rewrite positive_cons. intros [Hm Hl].
    destruct (m =? 1); [destruct l; [rewrite positive_cons; split; [exact Hn | constructor] | apply IH; assumption]|].
    destruct (n =? 1); [apply IH; assumption|]. destruct (e =? n * d); [apply IH; [nia | assumption]|].
    rewrite positive_cons. split; [exact Hn | apply IH; assumption].
Qed.

Lemma coalesce_positive l : positive l -> positive (coalesce l).
Proof. destruct l as [|[n d] l]; [auto|]. rewrite positive_cons. intros [Hn Hl]. apply coalesced_positive; assumption. Qed.

(** No two neighbours of the result merge, and no extent is 1, but for a layout of one place. *)
Fixpoint irreducible (l : layout) : Prop :=
  match l with
  | (n, d) :: ((m, e) :: _) as rest => 1 < n /\ e <> n * d /\ irreducible rest
  | [(n, _)] => 1 < n
  | [] => True
  end.

Lemma coalesced_head n d l : 1 < n -> positive l ->
  exists k rest, coalesced n d l = (k, d) :: rest /\ 1 < k.
Proof.
  revert n d. induction l as [|[m e] l IH]; intros n d Hn; cbn [coalesced]; [eauto|]. rewrite positive_cons. intros [Hm Hl].
  destruct (Z.eqb_spec m 1); [destruct l; [eauto | apply IH; assumption]|].
  destruct (Z.eqb_spec n 1); [lia|]. destruct (Z.eqb_spec e (n * d)); [apply IH; [nia|assumption] | eauto].
Qed.

Lemma coalesced_irreducible n d l : 1 < n -> positive l -> irreducible (coalesced n d l).
Proof.
  revert n d. induction l as [|[m e] l IH]; intros n d Hn; cbn [coalesced]; [simpl; lia|]. rewrite positive_cons. intros [Hm Hl].
  destruct (Z.eqb_spec m 1); [destruct l; [simpl; lia | apply IH; assumption]|].
  destruct (Z.eqb_spec n 1); [lia|]. destruct (Z.eqb_spec e (n * d)) as [|He]; [apply IH; [nia|assumption]|].
  assert (1 < m) by lia. destruct (coalesced_head m e l H Hl) as (k & rest & E & Hk).
  specialize (IH m e H Hl). rewrite E in *. cbn [irreducible]. auto.
Qed.

Theorem coalesce_irreducible l : positive l -> 1 < size l -> irreducible (coalesce l).
Proof.
  destruct l as [|[n d] l]; [simpl; lia|]. rewrite positive_cons. intros [Hn Hl] Hs. cbn [coalesce].
  destruct (Z.eq_dec n 1) as [->|]; [|apply coalesced_irreducible; [lia | assumption]].
  revert d Hs Hl. induction l as [|[m e] l IH]; intros d; cbn [size coalesced]; [lia|]. intros Hs. rewrite positive_cons. intros [Hm Hl].
  destruct (Z.eqb_spec m 1) as [->|].
  - destruct l as [|p l]; [cbn [size] in Hs; lia|]. apply IH; [change (1 < 1 * size (p :: l)); lia | exact Hl].
  - apply coalesced_irreducible; [lia | assumption].
Qed.

Lemma irreducible_head n d l : irreducible ((n, d) :: l) -> 1 < n.
Proof. destruct l as [|[m e] l]; [exact (fun H => H) | intros (H & _); exact H]. Qed.

Lemma irreducible_next n d m e l : irreducible ((n, d) :: (m, e) :: l) -> e <> n * d /\ irreducible ((m, e) :: l).
Proof. intros (_ & H). exact H. Qed.

Lemma irreducible_size n d l : positive l -> irreducible ((n, d) :: l) -> 1 < n * size l.
Proof. intros Hl H. apply irreducible_head in H. pose proof (size_positive l Hl). nia. Qed.

(** The function determines its irreducible layout: two of them that are equal on one domain are the same list of modes. The
    first mode is the longest run of equal steps from 0 on; what is left are the values at its multiples. *)
Theorem irreducible_unique a b :
  positive a -> positive b -> irreducible a -> irreducible b -> size a = size b ->
  (forall x, 0 <= x < size a -> at_ a x = at_ b x) -> a = b.
Proof.
  revert b. induction a as [|[n d] a IH]; intros [|[m e] b]; rewrite ?positive_cons; intros Ha Hb Ia Ib Hs Heq; try reflexivity.
  - destruct Hb as [_ Hb]. pose proof (irreducible_size m e b Hb Ib). cbn [size] in Hs. lia.
  - destruct Ha as [_ Ha]. pose proof (irreducible_size n d a Ha Ia). cbn [size] in Hs. lia.
  - destruct Ha as [Hn Ha], Hb as [Hm Hb].
    pose proof (size_positive a Ha) as Sa. pose proof (size_positive b Hb) as Sb. cbn [size] in Hs, Heq.
    pose proof (irreducible_head _ _ _ Ia) as Hn1. pose proof (irreducible_head _ _ _ Ib) as Hm1.
    assert (d = e) as <-.
    { specialize (Heq 1). rewrite !at_small in Heq by lia. rewrite !Z.mul_1_l in Heq. apply Heq. nia. }
    assert (n = m) as <-.
    { destruct (Z.lt_trichotomy n m) as [L|[E|L]]; [|exact E|]; exfalso.
      - destruct a as [|[k f] a]; [cbn [size] in Hs; nia|]. pose proof (irreducible_next _ _ _ _ _ Ia) as [Hf Ia'].
        apply Hf. apply irreducible_head in Ia'. specialize (Heq n).
        rewrite at_cons in Heq by discriminate. rewrite Z.mod_same, Z.div_same in Heq by lia.
        rewrite (at_small k f a 1) in Heq by lia. rewrite (at_small m d b n) in Heq by lia.
        assert (0 <= n < n * size ((k, f) :: a)) as R by nia. specialize (Heq R). lia.
      - destruct b as [|[k f] b]; [cbn [size] in Hs; nia|]. pose proof (irreducible_next _ _ _ _ _ Ib) as [Hf Ib'].
        apply Hf. apply irreducible_head in Ib'. specialize (Heq m).
        rewrite (at_cons m) in Heq by discriminate. rewrite Z.mod_same, Z.div_same in Heq by lia.
        rewrite (at_small k f b 1) in Heq by lia. rewrite (at_small n d a m) in Heq by lia.
        assert (0 <= m < n * size a) as R by nia. specialize (Heq R). lia. }
    assert (size a = size b) as Hs' by nia.
    f_equal. destruct a as [|[k f] a], b as [|[l g] b].
    + reflexivity.
    + rewrite positive_cons in Hb. apply irreducible_next in Ib as [_ Ib].
      pose proof (irreducible_size _ _ _ (proj2 Hb) Ib). cbn [size] in *. lia.
    + rewrite positive_cons in Ha. apply irreducible_next in Ia as [_ Ia].
      pose proof (irreducible_size _ _ _ (proj2 Ha) Ia). cbn [size] in *. lia.
    + apply irreducible_next in Ia as [_ Ia]. apply irreducible_next in Ib as [_ Ib].
      apply IH; try assumption. intros x Hx. specialize (Heq (x * n)). rewrite !(at_cons n) in Heq by discriminate.
      rewrite Z.mod_mul, Z.div_mul in Heq by lia. assert (0 <= x * n < n * size ((k, f) :: a)) as R by nia. specialize (Heq R). lia.
Qed.
