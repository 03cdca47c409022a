(** XLA's tiles: lower gives the linear index of XLA's document, and a map has one coalesced layout, which raise goes by.

    The document (openxla.org, tiled_layout): a tile (t_k .. t_1) pads each of the k most minor dimensions to a multiple, splits
    it into a count and a part, and puts all counts before all parts; further tiles do so with the shape produced so far. The index
    is row-major in the shape at the end. Dimensions are listed major to minor here. *)

From Coq Require Import ZArith List Lia.
From Tla Require Import Layout.
Import ListNotations.
Open Scope Z_scope.

Definition ceil_div (a b : Z) : Z := (a + b - 1) / b.

(** * The document *)

(** Row-major: the last digit is the fastest. *)
Fixpoint row_major (sizes coordinate : list Z) : Z :=
  match sizes, coordinate with
  | _ :: sizes, u :: us => u * fold_right Z.mul 1 sizes + row_major sizes us
  | _, _ => 0
  end.

Fixpoint zip2 {X Y W} (f : X -> Y -> W) (a : list X) (b : list Y) : list W :=
  match a, b with
  | x :: a, y :: b => f x y :: zip2 f a b
  | _, _ => []
  end.

(** The shape and the coordinate after one tile: the dimensions that it does not reach, the counts, the parts. *)
Definition tiled_shape (shape tile : list Z) : list Z :=
  let k := (length shape - length tile)%nat in
  firstn k shape ++ zip2 ceil_div (skipn k shape) tile ++ zip2 (fun _ t => t) (skipn k shape) tile.

Definition tiled_coordinate (u tile : list Z) : list Z :=
  let k := (length u - length tile)%nat in
  firstn k u ++ zip2 Z.div (skipn k u) tile ++ zip2 Z.modulo (skipn k u) tile.

Fixpoint document_index (shape u : list Z) (tiles : list (list Z)) : Z :=
  match tiles with
  | [] => row_major shape u
  | t :: more => document_index (tiled_shape shape t) (tiled_coordinate u t) more
  end.

(** * The plan of tla/xla/shapes/tile_padding.py *)

(** A digit of a dimension: (coordinate // place) % extent, without the remainder at the top, where coordinates end; slots of memory. *)
Record digit := Digit { dimension : nat; extent : Z; place : Z; top : bool; slots : Z }.

Definition value (x : list Z) (u : digit) : Z :=
  let q := nth (dimension u) x 0 / place u in if top u then q else q mod extent u.

(** A digit splits where the tile divides it, or at the top. *)
Definition splits (u : digit) (t : Z) : bool := (0 <? t) && (top u || (extent u mod t =? 0)).

Definition count (u : digit) (t : Z) : digit :=
  Digit (dimension u) (ceil_div (extent u) t) (place u * t) (top u) (ceil_div (slots u) t).
Definition part (u : digit) (t : Z) : digit := Digit (dimension u) t (place u) false t.

Definition tiled_plan (us : list digit) (tile : list Z) : option (list digit) :=
  let k := (length us - length tile)%nat in
  if forallb (fun b => b) (zip2 splits (skipn k us) tile)
  then Some (firstn k us ++ zip2 count (skipn k us) tile ++ zip2 part (skipn k us) tile)
  else None.

Fixpoint plan (us : list digit) (tiles : list (list Z)) : option (list digit) :=
  match tiles with
  | [] => Some us
  | t :: more => match tiled_plan us t with Some next => plan next more | None => None end
  end.

Definition well_formed (u : digit) : Prop := 0 < place u /\ 0 < extent u.

Lemma count_value x u t : well_formed u -> splits u t = true -> value x (count u t) = value x u / t.
Proof.
  intros [Hp He]. unfold splits, value, count. cbn. rewrite Bool.andb_true_iff, Bool.orb_true_iff. intros [Ht H]. apply Z.ltb_lt in Ht.
  rewrite <- Z.div_div by lia. destruct (top u) eqn:T; [reflexivity|]. destruct H as [H|H]; [discriminate|]. apply Z.eqb_eq in H.
  apply Z.div_exact in H; [|lia]. set (q := nth (dimension u) x 0 / place u).
  assert (ceil_div (extent u) t = extent u / t) as ->.
  { unfold ceil_div. rewrite H at 1. replace (t * (extent u / t) + t - 1) with ((t - 1) + (extent u / t) * t) by ring.
    rewrite Z.div_add by lia. rewrite (Z.div_small (t - 1)) by lia. reflexivity. }
  set (m := extent u / t) in *. rewrite H. assert (0 < m) by nia. rewrite Z.rem_mul_r by lia.
  replace (q mod t + t * ((q / t) mod m)) with (q mod t + ((q / t) mod m) * t) by ring.
  rewrite Z.div_add by lia. rewrite (Z.div_small (q mod t)) by (apply Z.mod_pos_bound; lia). reflexivity.
Qed.

Lemma part_value x u t : well_formed u -> splits u t = true -> value x (part u t) = value x u mod t.
Proof.
  intros [Hp He]. unfold splits, value, part. cbn. rewrite Bool.andb_true_iff, Bool.orb_true_iff. intros [Ht H]. apply Z.ltb_lt in Ht.
  destruct (top u) eqn:T; [reflexivity|]. destruct H as [H|H]; [discriminate|]. apply Z.eqb_eq in H. apply Z.div_exact in H; [|lia].
  set (q := nth (dimension u) x 0 / place u). set (m := extent u / t) in *. rewrite H. assert (0 < m) by nia. rewrite Z.rem_mul_r by lia.
  rewrite Z.add_comm, Z.mul_comm, Z.add_comm. rewrite Z.mod_add by lia. rewrite Z.mod_mod by lia. reflexivity.
Qed.

Lemma splits_well_formed u t : well_formed u -> splits u t = true -> well_formed (count u t) /\ well_formed (part u t).
Proof.
  intros [Hp He]. unfold splits, well_formed. cbn. rewrite Bool.andb_true_iff. intros [Ht _]. apply Z.ltb_lt in Ht.
  repeat split; try lia. unfold ceil_div. apply Z.div_str_pos. lia.
Qed.

Lemma zip2_map {X Y W V} (f : Y -> W -> V) (g : X -> Y) (a : list X) b : zip2 f (map g a) b = zip2 (fun x y => f (g x) y) a b.
Proof. revert b. induction a as [|x a IH]; intros [|y b]; cbn; [reflexivity..|]. f_equal. apply IH. Qed.

Lemma map_zip2 {X Y W V} (f : X -> Y -> W) (g : W -> V) a b : map g (zip2 f a b) = zip2 (fun x y => g (f x y)) a b.
Proof. revert b. induction a as [|x a IH]; intros [|y b]; cbn; [reflexivity..|]. f_equal. apply IH. Qed.

Lemma zip2_ext {X Y W} (f g : X -> Y -> W) (ok : X -> Y -> bool) (good : X -> Prop) a b :
  (forall x y, good x -> ok x y = true -> f x y = g x y) -> Forall good a -> forallb (fun b => b) (zip2 ok a b) = true -> zip2 f a b = zip2 g a b.
Proof.
  intros H. revert b. induction a as [|x a IH]; intros [|y b]; cbn; try reflexivity. intros Hg Hok.
  inversion Hg as [|? ? Hx Ha]; subst. apply andb_prop in Hok as [H1 H2]. rewrite H, IH by assumption. reflexivity.
Qed.

Lemma zip2_forall {X Y W} (f : X -> Y -> W) (ok : X -> Y -> bool) (good : X -> Prop) (fine : W -> Prop) a b :
  (forall x y, good x -> ok x y = true -> fine (f x y)) -> Forall good a -> forallb (fun b => b) (zip2 ok a b) = true -> Forall fine (zip2 f a b).
Proof.
  intros H. revert b. induction a as [|x a IH]; intros [|y b]; cbn; try (intros; constructor; fail). intros Hg Hok.
  inversion Hg as [|? ? Hx Ha]; subst. apply andb_prop in Hok as [H1 H2]. constructor; [apply H; assumption | apply IH; assumption].
Qed.

Lemma forall_firstn {X} (p : X -> Prop) k l : Forall p l -> Forall p (firstn k l).
Proof. intros H. rewrite <- (firstn_skipn k l) in H. apply Forall_app in H. apply H. Qed.
Lemma forall_skipn {X} (p : X -> Prop) k l : Forall p l -> Forall p (skipn k l).
Proof. intros H. rewrite <- (firstn_skipn k l) in H. apply Forall_app in H. apply H. Qed.

(** One tile: the digits of the plan have the values and slots of the document's coordinate and shape. *)
Lemma tiled_plan_correct us tile next x : Forall well_formed us -> tiled_plan us tile = Some next ->
  map (value x) next = tiled_coordinate (map (value x) us) tile /\ map slots next = tiled_shape (map slots us) tile /\ Forall well_formed next.
Proof.
  intros Hw. unfold tiled_plan, tiled_coordinate, tiled_shape. rewrite !map_length. set (k := (length us - length tile)%nat).
  destruct (forallb (fun b => b) (zip2 splits (skipn k us) tile)) eqn:Ok; [|discriminate]. injection 1 as <-.
  pose proof (forall_skipn well_formed k us Hw) as Hk.
  rewrite !map_app, !map_zip2, <- !firstn_map, !skipn_map, !zip2_map. repeat split.
  - do 2 f_equal; apply (zip2_ext _ _ splits well_formed); try assumption; [apply count_value | apply part_value].
  - apply Forall_app. split; [apply forall_firstn, Hw|]. apply Forall_app.
    split; eapply zip2_forall; try eassumption; intros u t Hu Hs; apply (splits_well_formed u t Hu Hs).
Qed.

Lemma plan_correct us tiles final x : Forall well_formed us -> plan us tiles = Some final ->
  row_major (map slots final) (map (value x) final) = document_index (map slots us) (map (value x) us) tiles.
Proof.
  revert us. induction tiles as [|t tiles IH]; cbn [plan document_index]; intros us Hw.
  - injection 1 as <-. reflexivity.
  - destruct (tiled_plan us t) as [next|] eqn:E; [|discriminate]. intros H.
    destruct (tiled_plan_correct us t next x Hw E) as (V & S & W). rewrite <- V, <- S. apply IH; assumption.
Qed.

(** Before any tile each dimension is one digit, in the order of memory. *)
Definition untiled (order : list nat) (shape : list Z) : list digit := map (fun d => Digit d (nth d shape 0) 1 true (nth d shape 0)) order.

(** The strides of the plan: running products of the slots, minor digits first. *)
Fixpoint strided (us : list digit) : list (digit * Z) :=
  match us with
  | [] => []
  | u :: rest => (u, fold_right Z.mul 1 (map slots rest)) :: strided rest
  end.

Definition lowered (us : list digit) (x : list Z) : Z := fold_right Z.add 0 (map (fun '(u, d) => value x u * d) (strided us)).

Lemma lowered_row_major us x : lowered us x = row_major (map slots us) (map (value x) us).
Proof. unfold lowered. induction us as [|u us IH]; cbn [strided map fold_right row_major]; [reflexivity|]. rewrite IH. reflexivity. Qed.

(** lower is the linear index of the document, for every coordinate, whatever the padding. *)
Theorem lower_is_the_document order shape tiles final x :
  Forall (fun d => 0 < nth d shape 0) order -> plan (untiled order shape) tiles = Some final ->
  lowered final x = document_index (map (fun d => nth d shape 0) order) (map (fun d => nth d x 0) order) tiles.
Proof.
  intros Hs H. assert (Forall well_formed (untiled order shape)) as Hw.
  { unfold untiled. rewrite Forall_map. eapply Forall_impl; [|exact Hs]. intros d Hd. split; cbn; [lia | exact Hd]. }
  rewrite lowered_row_major, (plan_correct (untiled order shape) tiles final x Hw H).
  f_equal.
  - unfold untiled. rewrite map_map. reflexivity.
  - unfold untiled. rewrite map_map. apply map_ext. intros d. unfold value. cbn. apply Z.div_1_r.
Qed.

(** * The way back *)

(** A coordinate from an index: the row-major index of a coordinate inside of a shape determines it. So a map of tiles, which is
    one-to-one on each level, has an inverse. *)
Fixpoint in_shape (sizes u : list Z) : Prop :=
  match sizes, u with
  | [], [] => True
  | n :: sizes, x :: u => 0 <= x < n /\ in_shape sizes u
  | _, _ => False
  end.

Lemma row_major_bound sizes u : in_shape sizes u -> 0 <= row_major sizes u < fold_right Z.mul 1 sizes.
Proof.
  revert u. induction sizes as [|n sizes IH]; intros [|x u]; cbn [in_shape row_major fold_right]; try contradiction; [lia|].
  intros [Hx Hu]. specialize (IH u Hu). nia.
Qed.

Theorem row_major_injective sizes u v : in_shape sizes u -> in_shape sizes v -> row_major sizes u = row_major sizes v -> u = v.
Proof.
  revert u v. induction sizes as [|n sizes IH]; intros [|x u] [|y v]; cbn [in_shape row_major]; try contradiction; [reflexivity|].
  intros [Hx Hu] [Hy Hv] E. pose proof (row_major_bound sizes u Hu). pose proof (row_major_bound sizes v Hv).
  assert (x = y) as -> by nia. f_equal. apply IH; [assumption..|lia].
Qed.

(** A tile loses no coordinate. *)
Theorem tiled_coordinate_injective u v tile : length u = length v -> (length tile <= length u)%nat -> Forall (fun t => 0 < t) tile ->
  tiled_coordinate u tile = tiled_coordinate v tile -> u = v.
Proof.
  intros L Lt Ht. unfold tiled_coordinate. rewrite <- L. set (k := (length u - length tile)%nat). intros E.
  assert (length (firstn k u) = length (firstn k v)) as Lk by (rewrite !firstn_length; lia).
  assert (length (skipn k u) = length tile) as Lu by (rewrite skipn_length; unfold k; lia).
  assert (length (skipn k v) = length tile) as Lv by (rewrite skipn_length; unfold k; lia).
  assert (forall x y z w : list Z, length x = length y -> x ++ z = y ++ w -> x = y /\ z = w) as Inv.
  { clear. induction x as [|h x IH]; intros [|g y] z w Hl He; cbn in *; try lia; [auto|]. injection He as -> He.
    destruct (IH y z w ltac:(lia) He) as [-> ->]. auto. }
  destruct (Inv _ _ _ _ Lk E) as [E1 E2].
  assert (forall (f : Z -> Z -> Z) a b, length a = length b -> length (zip2 f a tile) = length (zip2 f b tile)) as Lz.
  { clear. intros f a. revert tile. induction a as [|x a IH]; intros tile [|y b] H; cbn in *; try lia; destruct tile; cbn; [reflexivity..|]. f_equal. apply IH. lia. }
  destruct (Inv _ _ _ _ (Lz Z.div _ _ (eq_trans Lu (eq_sym Lv))) E2) as [E3 E4].
  rewrite <- (firstn_skipn k u), <- (firstn_skipn k v), E1. f_equal.
  clear -Lu Lv Ht E3 E4. revert Lu Lv E3 E4. generalize (skipn k u) as a, (skipn k v) as b. induction Ht as [|t tile Ht H IH]; intros [|x a] [|y b]; cbn; try lia; [reflexivity|].
  intros La Lb E3 E4. injection E3 as D E3. injection E4 as M E4. f_equal; [|apply IH; (assumption || lia)].
  rewrite (Z.div_mod x t), (Z.div_mod y t) by lia. rewrite D, M. reflexivity.
Qed.

(** raise compares coalesced modes. Two plans whose map along a dimension is one function there have the same modes when
    coalesced: so a shape that lowers to the layout's map is seen as such, and no other one is. *)
Theorem raise_decides a b : positive a -> positive b -> 1 < size a -> size a = size b ->
  (forall x, 0 <= x < size a -> at_ a x = at_ b x) <-> coalesce a = coalesce b.
Proof.
  intros Ha Hb Hs Hz. split.
  - intros H. apply irreducible_unique.
    + apply coalesce_positive, Ha.
    + apply coalesce_positive, Hb.
    + apply coalesce_irreducible; assumption.
    + apply coalesce_irreducible; [exact Hb | lia].
    + rewrite !coalesce_size. exact Hz.
    + intros x Hx. rewrite coalesce_size in Hx. rewrite !coalesce_correct by (assumption || lia). apply H, Hx.
  - intros E x Hx. rewrite <- (coalesce_correct a), <- (coalesce_correct b) by (assumption || lia). rewrite E. reflexivity.
Qed.
