(** Complement: the offsets that a layout leaves out. The modes of the layout, ordered by stride, and those of its complement
    stand between one another; each begins past the reach of those below it. So no offset is met twice; and where each begins
    exactly where those below it end, none is left out. *)

From Coq Require Import ZArith List Lia Permutation.
From Tla Require Import Layout.
Import ListNotations.
Open Scope Z_scope.

(** Each mode begins past what those before it reach: `reach` is one more than the largest offset below. *)
Fixpoint ascending (reach : Z) (l : layout) : Prop :=
  match l with
  | [] => True
  | (n, d) :: rest => 0 < n /\ reach <= d /\ ascending (n * d) rest
  end.

(** Each mode begins where those before it end. *)
Fixpoint contiguous (reach : Z) (l : layout) : Prop :=
  match l with
  | [] => True
  | (n, d) :: rest => 0 < n /\ reach = d /\ contiguous (n * d) rest
  end.

Fixpoint end_of (reach : Z) (l : layout) : Z :=
  match l with
  | [] => reach
  | (n, d) :: rest => end_of (n * d) rest
  end.

Lemma contiguous_ascending reach l : contiguous reach l -> ascending reach l.
Proof. revert reach. induction l as [|[n d] l IH]; cbn; intros reach; [trivial|]. intros (H & -> & R). repeat split; [exact H | lia | apply IH, R]. Qed.

Lemma ascending_positive reach l : ascending reach l -> positive l.
Proof. revert reach. induction l as [|[n d] l IH]; cbn; intros reach; [constructor|]. rewrite positive_cons. intros (H & _ & R). split; [exact H | eapply IH, R]. Qed.

(** Two coordinates of one offset, with what is below them smaller than the reach, are the same. *)
Lemma ascending_unique reach l c e x y :
  0 < reach -> ascending reach l -> inside l c -> inside l e -> 0 <= x < reach -> 0 <= y < reach ->
  x + offset l c = y + offset l e -> x = y /\ c = e.
Proof.
  revert reach c e x y. induction l as [|[n d] l IH]; intros reach [|k c] [|j e] x y; cbn [inside]; try contradiction.
  - cbn. intros. split; [lia | reflexivity].
  - cbn [ascending offset]. intros Hr (Hn & Hd & Ha) [Hk Hc] [Hj He] Hx Hy E.
    destruct (IH (n * d) c e (x + k * d) (y + j * d)) as [E1 ->]; try assumption; try nia.
    assert (k = j) as <- by nia. split; [lia | reflexivity].
Qed.

Theorem ascending_injective l c e : ascending 1 l -> inside l c -> inside l e -> offset l c = offset l e -> c = e.
Proof. intros Ha Hc He E. apply (ascending_unique 1 l c e 0 0); (assumption || lia). Qed.

Theorem contiguous_covers reach l y : 0 < reach -> contiguous reach l -> 0 <= y < end_of reach l ->
  exists x c, 0 <= x < reach /\ inside l c /\ y = x + offset l c.
Proof.
  revert reach y. induction l as [|[n d] l IH]; intros reach y Hr; cbn [contiguous end_of].
  - intros _ Hy. exists y, []. cbn. split; [exact Hy|]. split; [trivial | lia].
  - intros (Hn & -> & Hc) Hy. destruct (IH (n * d) y ltac:(nia) Hc Hy) as (x & c & Hx & Hi & ->).
    exists (x mod d), (x / d :: c). cbn [inside offset]. pose proof (Z.div_mod x d ltac:(lia)).
    pose proof (Z.mod_pos_bound x d Hr). repeat split; try assumption; try lia.
    + apply Z.div_pos; lia.
    + apply Z.div_lt_upper_bound; nia.
Qed.

(** * The complement of modes in the order of their strides *)

(** The gap below each mode, and copies of all up to n: what plain_complement of tla/algebra/complement.py does. *)
Fixpoint gaps (period n : Z) (l : layout) : layout :=
  match l with
  | [] => [((n + period - 1) / period, period)]
  | (s, d) :: rest => (d / period, period) :: gaps (d * s) n rest
  end.

Definition complement (n : Z) (l : layout) : layout := gaps 1 n l.

(** The gaps and the modes in the order of their strides. *)
Fixpoint woven (period n : Z) (l : layout) : layout :=
  match l with
  | [] => [((n + period - 1) / period, period)]
  | (s, d) :: rest => (d / period, period) :: (s, d) :: woven (d * s) n rest
  end.

Lemma woven_permutes period n l : Permutation (woven period n l) (l ++ gaps period n l).
Proof.
  revert period. induction l as [|[s d] l IH]; intros period; cbn [woven gaps app]; [reflexivity|].
  rewrite IH. rewrite perm_swap. apply perm_skip. apply Permutation_middle.
Qed.

Lemma woven_ascending period n l : 0 < period -> 0 < n -> ascending period l -> ascending period (woven period n l).
Proof.
  revert period. induction l as [|[s d] l IH]; intros period Hp Hn; cbn [woven ascending].
  - intros _. repeat split; [|lia]. apply Z.div_str_pos. lia.
  - intros (Hs & Hd & Ha). repeat split.
    + apply Z.div_str_pos. lia.
    + lia.
    + exact Hs.
    + pose proof (Z.mul_div_le d period Hp). lia.
    + rewrite (Z.mul_comm s d) in *. apply IH; [nia | exact Hn | exact Ha].
Qed.

(** Coordinates of permuted modes: offsets do not ask for the order. *)
Lemma permuted_coordinates (a b : layout) : Permutation a b ->
  exists f g : list Z -> list Z,
    (forall c, inside a c -> inside b (f c) /\ offset b (f c) = offset a c /\ g (f c) = c) /\
    (forall c, inside b c -> inside a (g c) /\ offset a (g c) = offset b c /\ f (g c) = c).
Proof.
  induction 1 as [|[n d] a b _ (f & g & F & G)|[n d] [m e] l|a b c _ (f & g & F & G) _ (h & k & H & K)].
  - exists (fun c => c), (fun c => c). split; intros []; cbn; tauto.
  - exists (fun c => match c with [] => [] | k :: c => k :: f c end), (fun c => match c with [] => [] | k :: c => k :: g c end).
    split; intros [|k c]; cbn [inside offset]; try contradiction; intros [Hk Hc].
    + destruct (F c Hc) as (I & O & E). rewrite O, E. auto.
    + destruct (G c Hc) as (I & O & E). rewrite O, E. auto.
  - set (swap := fun c : list Z => match c with j :: k :: c => k :: j :: c | _ => c end).
    exists swap, swap. unfold swap. split; intros [|j [|k c]]; cbn [inside offset]; try tauto; intros (? & ? & ?); repeat split; (tauto || lia).
  - exists (fun x => h (f x)), (fun x => g (k x)). split; intros x Hx.
    + destruct (F x Hx) as (I & O & E). destruct (H (f x) I) as (I' & O' & E'). rewrite O', O, E'. auto.
    + destruct (K x Hx) as (I & O & E). destruct (G (k x) I) as (I' & O' & E'). rewrite O', O, E'. auto.
Qed.

Lemma inside_length l c : inside l c -> length c = length l.
Proof. revert c. induction l as [|[n d] l IH]; intros [|k c]; cbn; try contradiction; [reflexivity|]. intros [_ H]. rewrite (IH c H). reflexivity. Qed.

(** Disjoint: no two coordinates of (layout, complement) have one offset. *)
Theorem complement_disjoint n l c e :
  0 < n -> ascending 1 l -> let both := l ++ complement n l in
  inside both c -> inside both e -> offset both c = offset both e -> c = e.
Proof.
  intros Hn Ha both Hc He E. pose proof (woven_ascending 1 n l ltac:(lia) Hn Ha) as Hw.
  destruct (permuted_coordinates (woven 1 n l) both (woven_permutes 1 n l)) as (f & g & F & G).
  destruct (G c Hc) as (Ic & Oc & Fc). destruct (G e He) as (Ie & Oe & Fe).
  rewrite <- Fc, <- Fe. f_equal. apply (ascending_injective (woven 1 n l)); [exact Hw | exact Ic | exact Ie | congruence].
Qed.

(** Covering: where each stride is a multiple of where the modes before it end, every offset below n is met. *)
Fixpoint whole_gaps (period : Z) (l : layout) : Prop :=
  match l with
  | [] => True
  | (s, d) :: rest => 0 < s /\ 0 < d /\ d mod period = 0 /\ whole_gaps (d * s) rest
  end.

Lemma whole_gaps_ascending period l : 0 < period -> whole_gaps period l -> ascending period l.
Proof.
  revert period. induction l as [|[s d] l IH]; cbn [whole_gaps ascending]; intros period Hp; [trivial|].
  intros (Hs & Hd & Hm & H). rewrite (Z.mul_comm s d). repeat split; [exact Hs | | apply IH; [nia | exact H]].
  apply Z.div_exact in Hm; [|lia]. assert (0 < d / period) by nia. nia.
Qed.

Lemma woven_contiguous period n l : 0 < period -> 0 < n -> whole_gaps period l ->
  contiguous period (woven period n l) /\ n <= end_of period (woven period n l).
Proof.
  revert period. induction l as [|[s d] l IH]; intros period Hp Hn; cbn [woven whole_gaps contiguous end_of].
  - intros _. pose proof (Z.div_mod (n + period - 1) period ltac:(lia)). pose proof (Z.mod_pos_bound (n + period - 1) period Hp).
    repeat split; [apply Z.div_str_pos; lia | nia].
  - intros (Hs & Hd & Hm & H). apply Z.div_exact in Hm; [|lia]. destruct (IH (d * s) ltac:(nia) Hn H) as [C E].
    rewrite (Z.mul_comm s d). repeat split; try assumption; nia.
Qed.

Theorem complement_covers n l y :
  0 < n -> whole_gaps 1 l -> 0 <= y < n -> exists c, inside (l ++ complement n l) c /\ offset (l ++ complement n l) c = y.
Proof.
  intros Hn Hg Hy. destruct (woven_contiguous 1 n l ltac:(lia) Hn Hg) as [C E].
  destruct (contiguous_covers 1 (woven 1 n l) y ltac:(lia) C ltac:(lia)) as (x & c & Hx & Hi & ->).
  destruct (permuted_coordinates _ _ (woven_permutes 1 n l)) as (f & g & F & G).
  destruct (F c Hi) as (I & O & _). exists (f c). split; [exact I|]. unfold complement. rewrite O. lia.
Qed.

(** Ordered by stride. *)
Lemma gaps_ascending reach period n l : 0 < period -> 0 < n -> reach <= period -> ascending period l -> ascending reach (gaps period n l).
Proof.
  revert reach period. induction l as [|[s d] l IH]; intros reach period Hp Hn Hr; cbn [gaps ascending].
  - intros _. repeat split; [apply Z.div_str_pos; lia | exact Hr].
  - intros (Hs & Hd & Ha). repeat split; [apply Z.div_str_pos; lia | exact Hr|].
    rewrite (Z.mul_comm s d) in Ha. pose proof (Z.mul_div_le d period Hp). apply IH; [nia | exact Hn | nia | exact Ha].
Qed.

Theorem complement_ordered n l : 0 < n -> ascending 1 l -> ascending 1 (complement n l).
Proof. intros Hn Ha. apply gaps_ascending; (assumption || lia). Qed.
