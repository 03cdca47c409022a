(** The main theorems, and what each rests on: nothing but Coq itself. `coqc` prints it, and tests/project/test_proofs.py reads it. *)

From Tla Require Import Layout Composition Complement Inverse Divide Swizzle Tiling Certificate.

Print Assumptions at_digits.
Print Assumptions coalesce_correct.
Print Assumptions irreducible_unique.
Print Assumptions no_carry.
Print Assumptions compose_sound.
Print Assumptions compose_complete.
Print Assumptions refused_has_none.
Print Assumptions refused_by_coordinate.
Print Assumptions refused_by_mode.
Print Assumptions complement_disjoint.
Print Assumptions complement_covers.
Print Assumptions complement_ordered.
Print Assumptions right_inverse_correct.
Print Assumptions right_inverse_bounded.
Print Assumptions left_inverse_correct.
Print Assumptions divide_covers.
Print Assumptions product_injective.
Print Assumptions swizzle_involution.
Print Assumptions swizzle_block.
Print Assumptions swizzle_scaled.
Print Assumptions swizzle_through.
Print Assumptions lower_is_the_document.
Print Assumptions tiled_coordinate_injective.
Print Assumptions raise_decides.
Print Assumptions check_sound.
