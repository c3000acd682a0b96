//! Reflection, and copies of arrays.

use untorn_bytecode::descriptor::Signature;
use untorn_bytecode::{Instr, Member, Snippet, access, op};
use untorn_trace::event::Access;

use super::super::{MethodPass, RewriteError, access as accesses};
use crate::sites::{CodeSite, Reached, SiteKind};

const PROBES: &str = "java/lang/UntornArrays";

/// Arguments of `System.arraycopy`, and the site.
const COPY: &str = "(Ljava/lang/Object;ILjava/lang/Object;III)V";

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn copying(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
    ) -> Result<(), RewriteError> {
        let name = &*called.name;
        match &*called.class {
            "java/lang/System" if name == "arraycopy" => self.array_copy(instr, called),
            "java/util/Arrays" => self.whole_array(instr, called),
            "java/lang/reflect/Field" if instr.opcode == op::INVOKEVIRTUAL => {
                self.reflected(instr, called)
            }
            "java/lang/reflect/Array" if name.starts_with("set") => {
                self.element_by_name(instr, called, "written")
            }
            "java/lang/reflect/Array" if name.starts_with("get") && name != "getLength" => {
                self.element_by_name(instr, called, "read")
            }
            class if class.starts_with('[') && name == "clone" && !self.is_list_of_constants() => {
                self.cloned(instr, called)
            }
            // Compilers before Java 5 name the class that declares the method, not that of the array.
            "java/lang/Object" if name == "clone" && called.descriptor.starts_with("()") => {
                self.cloned(instr, called)
            }
            _ => Ok(()),
        }
    }

    /// `super.clone()` reads every field of the object; or every element, if a class file is made so.
    pub(in super::super) fn copy_of_object(
        &mut self,
        instr: &Instr<'a>,
    ) -> Result<(), RewriteError> {
        let Some(index) = instr.pool_index() else { return Ok(()) };
        let Ok(called) = self.class.class.pool().member(index) else { return Ok(()) };
        let is_clone = (&*called.class, &*called.name, &*called.descriptor)
            == ("java/lang/Object", "clone", "()Ljava/lang/Object;");
        if !is_clone {
            return Ok(());
        }
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let (access, what) = (Access::Plain, Reached::NamedField);
        let site = self.sites(
            instr.pc,
            [SiteKind::Reached { write: false, access, what }, SiteKind::Unresolved],
        );
        self.planned(instr.pc, site)?;
        let code = operands.load(Snippet::new(), 0);
        let last = self.call_probe_of(PROBES, code, site, "copied", "(Ljava/lang/Object;I)V")?;
        self.around(instr.pc, &operands, &Snippet::new(), last);
        Ok(())
    }

    /// `values()` of an enum clones an array that is never written.
    fn is_list_of_constants(&self) -> bool {
        let is_enum = self.class.class.access() & access::ENUM != 0;
        is_enum && self.method.is_static() && self.method.name() == "values"
    }

    /// Sites for elements of every type, read and write, and for elements that are not recorded.
    fn element_sites(&mut self, pc: u32) -> CodeSite {
        let of_type = |load: u8| {
            let (_, kind, element) = accesses::element_of(load);
            [false, true].map(|write| SiteKind::Copied { write, kind, element })
        };
        let all = (op::IALOAD..=op::SALOAD).flat_map(of_type).chain([SiteKind::LeftOut]);
        self.sites(pc, all)
    }

    fn array_copy(&mut self, instr: &Instr<'a>, called: &Member<'a>) -> Result<(), RewriteError> {
        // The characters of strings and their builders are not recorded.
        let class = self.class.class.name();
        let of_text = matches!(self.method.descriptor().as_bytes(), [b'(', b'[', b'B' | b'C', ..]);
        let probe = match class {
            "java/util/Arrays" if of_text => return Ok(()),
            "java/util/Arrays" => "copiedOut",
            _ if class.starts_with("java/lang/") => return Ok(()),
            _ => "copied",
        };
        self.elements(instr, called, probe, &[0, 1, 2, 3, 4], COPY)
    }

    /// Methods of `Arrays` that the compiler may replace, or that leave the work to classes which are not recorded: they
    /// are recorded where they are called, as one step.
    fn whole_array(&mut self, instr: &Instr<'a>, called: &Member<'a>) -> Result<(), RewriteError> {
        let Some(signature) = Signature::parse(&called.descriptor) else { return Ok(()) };
        let (parameters, array) = (&signature.parameters, "Ljava/lang/Object;");
        let is_array = |at: usize| parameters.get(at).is_some_and(|kind| kind.starts_with('['));
        let is_inside = self.class.class.name() == "java/util/Arrays";
        let of_references = parameters.first().is_some_and(|kind| kind.starts_with("[L"));
        let ints = parameters.get(1..3) == Some(&["I", "I"]);
        match &*called.name {
            _ if is_inside || !is_array(0) => Ok(()),
            "copyOf" if of_references => {
                self.elements(instr, called, "copiedFirst", &[0, 1], &format!("({array}II)V"))
            }
            "copyOfRange" if of_references => {
                self.elements(instr, called, "copiedRange", &[0, 1, 2], &format!("({array}III)V"))
            }
            "sort" | "parallelSort" if ints => {
                self.sorted(instr, called, &[0, 1, 2], &format!("({array}III)V"))
            }
            "sort" | "parallelSort" => self.sorted(instr, called, &[0], &format!("({array}I)V")),
            "equals" | "mismatch" | "compare" if is_array(1) && parameters.len() == 2 => {
                self.elements(instr, called, "compared", &[0, 1], &format!("({array}{array}I)V"))
            }
            _ => Ok(()),
        }
    }

    /// Reads all elements before the call, and writes them after it.
    fn sorted(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
        arguments: &[usize],
        descriptor: &str,
    ) -> Result<(), RewriteError> {
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let site = self.element_sites(instr.pc);
        let load = || arguments.iter().fold(Snippet::new(), |code, &at| operands.load(code, at));
        let first = self.call_probe_of(PROBES, load(), site, "toSort", descriptor)?;
        let last = self.call_probe_of(PROBES, load(), site, "sorted", descriptor)?;
        self.around(instr.pc, &operands, &first, last);
        Ok(())
    }

    fn cloned(&mut self, instr: &Instr<'a>, called: &Member<'a>) -> Result<(), RewriteError> {
        self.elements(instr, called, "cloned", &[0], "(Ljava/lang/Object;I)V")
    }

    fn element_by_name(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
        probe: &str,
    ) -> Result<(), RewriteError> {
        self.elements(instr, called, probe, &[0, 1], "(Ljava/lang/Object;II)V")
    }

    fn elements(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
        probe: &str,
        arguments: &[usize],
        descriptor: &str,
    ) -> Result<(), RewriteError> {
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let site = self.element_sites(instr.pc);
        let code = arguments.iter().fold(Snippet::new(), |code, &at| operands.load(code, at));
        let last = self.call_probe_of(PROBES, code, site, probe, descriptor)?;
        self.around(instr.pc, &operands, &Snippet::new(), last);
        Ok(())
    }

    fn reflected(&mut self, instr: &Instr<'a>, called: &Member<'a>) -> Result<(), RewriteError> {
        let name = &*called.name;
        let write = name.starts_with("set");
        let accesses = matches!(
            name.get(3..),
            Some("" | "Boolean" | "Byte" | "Char" | "Short" | "Int" | "Long" | "Float" | "Double")
        );
        if !accesses || !(write || name.starts_with("get")) {
            return Ok(());
        }
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let what = Reached::NamedField;
        let site = self.site(instr.pc, SiteKind::Reached { write, access: Access::Plain, what });
        self.planned(instr.pc, site)?;
        let code = operands.load(operands.load(Snippet::new(), 0), 1);
        let descriptor = "(Ljava/lang/reflect/Field;Ljava/lang/Object;I)V";
        let last = self.call_probe_of(PROBES, code, site, "reflected", descriptor)?;
        self.around(instr.pc, &operands, &Snippet::new(), last);
        Ok(())
    }
}
