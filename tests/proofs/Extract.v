(** The checker as OCaml. *)
From Coq Require Import Extraction ExtrOcamlBasic.
From Tla Require Import Layout Certificate.
Extraction Language OCaml.
Extraction "checker.ml" check.
