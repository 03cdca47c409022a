(* Certificates from standard input, one a line, integers alone; T or F for each: what the extracted checker says.

   A line is the number of the kind, 1 or 0 where it says how linearity is shown, and its lists, each with its length in front. *)
open Checker

let rec positive n = if n = 1 then XH else if n land 1 = 1 then XI (positive (n lsr 1)) else XO (positive (n lsr 1))
let z n = if n = 0 then Z0 else if n > 0 then Zpos (positive n) else Zneg (positive (-n))

let read line =
  let rest = ref (List.map int_of_string (List.filter (( <> ) "") (String.split_on_char ' ' line))) in
  let next () = match !rest with [] -> failwith "the line ends" | n :: more -> rest := more; n in
  let rec many k f = if k = 0 then [] else let x = f () in x :: many (k - 1) f in
  let list f = many (next ()) f in
  let number () = z (next ()) in
  let mode () = let n = number () in let d = number () in (n, d) in
  let piece () = let n = number () in let x = number () in let t = number () in ((n, x), t) in
  let kind = next () in
  let flag () = next () = 1 in
  let layout () = list mode in
  let pieces () = list piece in
  let cut () = list pieces in
  match kind with
  | 0 -> let a = layout () in let r = layout () in Coalesced (a, r)
  | 1 -> let f = flag () in let a = layout () in let b = layout () in let c = cut () in Composed (f, a, b, c)
  | 2 -> let a = layout () in let b = layout () in let c = list number in NotComposed (a, b, c)
  | 3 -> let a = layout () in let r = layout () in let w = layout () in let n = number () in Complemented (a, r, w, n)
  | 4 -> let f = flag () in let a = layout () in let p = pieces () in RightInverse (f, a, p)
  | 5 -> let f = flag () in let a = layout () in let r = layout () in let c = cut () in LeftInverse (f, a, r, c)
  | 6 ->
      let f = flag () in let a = layout () in let b = layout () in let r = layout () in
      let w = layout () in let n = number () in let c = cut () in Divided (f, a, b, r, w, n, c)
  | 8 -> let a = layout () in let b = layout () in let k = number () in NotCut (a, b, k)
  | _ ->
      let f = flag () in let a = layout () in let b = layout () in let r = layout () in
      let w = layout () in let c = cut () in Produced (f, a, b, r, w, c)

let () =
  try
    while true do
      print_endline (if check (read (input_line stdin)) then "T" else "F")
    done
  with End_of_file -> ()
