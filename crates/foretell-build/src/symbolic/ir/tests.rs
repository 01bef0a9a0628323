use super::*;

fn body(lines: &str) -> Vec<Inst> {
    let text = format!("define dso_local i32 @f(i32 noundef %0, ptr %1) #0 {{\n{lines}\n}}\n");
    functions(&text).remove(0).body
}

#[test]
fn function_heads_are_parsed() {
    let text = "define internal noundef ptr @\"a b\"(i32 noundef %0, i8 zeroext %1, ...) #0 {\nret ptr null\n}\n\
                define void @g(ptr byval(%struct.s) align 8 %x) {\nentry:\nret void\n}\n";
    let functions = functions(text);
    assert_eq!((functions[0].name.as_str(), functions[0].first, functions[0].end), ("a b", 0, 2));
    assert_eq!(functions[0].parameters, [(Type::Int(32), 0), (Type::Int(8), 1)]);
    assert!(functions[0].reads_frame && functions[1].reads_frame);
    assert_eq!(functions[1].labels["entry"], 4);
    assert_eq!(functions[1].body.len(), 3);
}

#[test]
fn instructions_are_parsed() {
    let body = body(
        "%3 = load volatile i32, ptr @x, align 4\n\
         store i8 -1, ptr %1, align 1\n\
         %4 = getelementptr inbounds %struct.s, ptr %1, i32 0, i32 2, i64 %3\n\
         %5 = add nsw i32 %3, -1\n\
         %6 = icmp sgt i32 %5, 0\n\
         %7 = zext i1 %6 to i32\n\
         br i1 %6, label %8, label %9\n\
         switch i32 %7, label %9 [ i32 1, label %8 i32 -2, label %9 ]\n\
         %8 = phi i1 [ false, %0 ], [ %6, %8 ]\n\
         %9 = fadd double %5, 1.0\n\
         ret i32 %7",
    );
    use Operand::{Bits, Constant, Local};
    assert_eq!(body[1], Inst::Load { to: 2, ty: Type::Int(32), pointer: Constant });
    assert_eq!(body[2], Inst::Store { ty: Type::Int(8), value: Bits(255), pointer: Local(1) });
    assert_eq!(body[3], Inst::Part { to: 3, base: Local(1), indices: vec![Local(2)] });
    let add = Inst::Binary { to: 4, op: Binary::Add, width: 32, a: Local(2), b: Bits(0xffff_ffff) };
    assert_eq!(body[4], add);
    assert!(matches!(body[5], Inst::Compare { predicate: Predicate::Sgt, width: 32, .. }));
    assert!(matches!(body[6], Inst::Cast { op: Cast::Zext, from: 1, into: 32, .. }));
    assert!(matches!(&body[7], Inst::Decide { yes, no, .. } if yes == "8" && no == "9"));
    let Inst::Switch { cases, default, .. } = &body[8] else { panic!("{:?}", body[8]) };
    assert_eq!((cases.len(), cases[1].0, default.as_str()), (2, 0xffff_fffe, "9"));
    let Inst::Phi { incoming, .. } = &body[9] else { panic!("{:?}", body[9]) };
    assert_eq!(incoming[0], (Bits(0), "0".to_owned()));
    let Inst::Other { to: Some(_), uses } = &body[10] else { panic!("{:?}", body[10]) };
    assert_eq!(uses, &[4]);
    assert!(matches!(body[11], Inst::Return { value: Some(Local(_)) }));
}

#[test]
fn calls_are_parsed() {
    let body = body(
        "%3 = call i32 (ptr, ...) @printf(ptr noundef @.str, i32 noundef %0) #7\n\
         %4 = call noalias ptr @malloc(i64 noundef 48) #9\n\
         call void %4(i32 noundef signext 3)\n\
         %5 = call { i64, i64 } @pair(ptr byval(%struct.s) align 8 %1)\n\
         call void asm sideeffect \"mfence (%0)\", \"r,~{memory}\"(i32 %0)",
    );
    let call = |i: usize| match &body[i] {
        Inst::Call(call) => call,
        other => panic!("{other:?}"),
    };
    assert_eq!(call(1).callee, Callee::Function("printf".to_owned()));
    assert_eq!((call(1).ty, call(1).arguments[1].0), (Type::Int(32), Type::Int(32)));
    assert_eq!((call(2).ty, call(2).arguments[0].1), (Type::Pointer, Operand::Bits(48)));
    assert!(matches!(call(3).callee, Callee::Pointer(Operand::Local(_))));
    assert_eq!((call(3).ty, call(3).arguments[0].1), (Type::Void, Operand::Bits(3)));
    assert!(call(4).copies && call(4).ty == Type::Other);
    assert_eq!(call(5).callee, Callee::Assembly);
}

#[test]
fn stack_slots_that_do_not_escape_are_hidden() {
    let text = "define void @f() {\n%1 = alloca i32\n%2 = alloca i32\n%3 = alloca ptr\n\
                store i32 1, ptr %1\ncall void @__tsan_write4(ptr %1)\nstore ptr %2, ptr %3\nret void\n}\n";
    let function = functions(text).remove(0);
    assert_eq!(function.hidden, [true, false, true]);
}
