//! Classes made by hand, for what no compiler would write.

/// The access flag of static methods.
const STATIC: u16 = 8;

/// A class with methods, all else being as small as can be. Its name is `Made`.
#[derive(Debug)]
pub struct Maker {
    version: u16,
    /// The constants, each as encoded in the file. Their indices are in order from 1.
    constants: Vec<Vec<u8>>,
    methods: Vec<Vec<u8>>,
}

/// A method to be made.
#[derive(Clone, Debug)]
pub struct Body {
    pub name: &'static str,
    pub descriptor: &'static str,
    pub access: u16,
    pub max_stack: u16,
    pub max_locals: u16,
    pub code: Vec<u8>,
    /// Start, end, target and class.
    pub handlers: Vec<[u16; 4]>,
    pub attributes: Vec<(&'static str, Vec<u8>)>,
}

impl Body {
    /// A static method without parameters or result.
    pub fn new(code: impl Into<Vec<u8>>) -> Self {
        Self {
            name: "made",
            descriptor: "()V",
            access: STATIC,
            max_stack: 4,
            max_locals: 4,
            code: code.into(),
            handlers: Vec::new(),
            attributes: Vec::new(),
        }
    }

    pub fn instance(code: impl Into<Vec<u8>>) -> Self {
        Self { access: 0, ..Self::new(code) }
    }
}

impl Maker {
    pub fn new(version: u16) -> Self {
        let mut maker = Self { version, constants: Vec::new(), methods: Vec::new() };
        assert_eq!(maker.class("Made"), 2);
        assert_eq!(maker.class("java/lang/Object"), 4);
        maker
    }

    /// A class with one method.
    pub fn with(version: u16, body: &Body) -> Vec<u8> {
        let mut maker = Self::new(version);
        maker.method(body);
        maker.finish()
    }

    fn constant(&mut self, constant: Vec<u8>) -> u16 {
        let known = self.constants.iter().position(|other| *other == constant);
        let at = known.unwrap_or_else(|| {
            self.constants.push(constant);
            self.constants.len() - 1
        });
        at as u16 + 1
    }

    pub fn utf8(&mut self, text: &str) -> u16 {
        let len = (text.len() as u16).to_be_bytes();
        self.constant([&[1], &len[..], text.as_bytes()].concat())
    }

    pub fn class(&mut self, name: &str) -> u16 {
        let [high, low] = self.utf8(name).to_be_bytes();
        self.constant(vec![7, high, low])
    }

    /// Tag 3 for an int, 4 for a float, 5 for a long, 6 for a double; the last two take two indices.
    pub fn number(&mut self, tag: u8, bytes: &[u8]) -> u16 {
        let index = self.constant([&[tag], bytes].concat());
        if bytes.len() == 8 && usize::from(index) == self.constants.len() {
            // An empty place, so that later constants have the right index.
            self.constants.push(Vec::new());
        }
        index
    }

    /// Tag 9 for a field, 10 for a method.
    pub fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let class = self.class(class);
        let pair = |tag: u8, first: u16, second: u16| {
            [&[tag], &first.to_be_bytes()[..], &second.to_be_bytes()[..]].concat()
        };
        let name_and_type = self.constant(pair(12, name, descriptor));
        self.constant(pair(tag, class, name_and_type))
    }

    pub fn method(&mut self, body: &Body) {
        let mut code = Vec::new();
        for number in [body.max_stack, body.max_locals] {
            code.extend(number.to_be_bytes());
        }
        code.extend((body.code.len() as u32).to_be_bytes());
        code.extend(&body.code);
        code.extend((body.handlers.len() as u16).to_be_bytes());
        code.extend(body.handlers.iter().flatten().flat_map(|number| number.to_be_bytes()));
        code.extend((body.attributes.len() as u16).to_be_bytes());
        for (name, content) in &body.attributes {
            code.extend(self.utf8(name).to_be_bytes());
            code.extend((content.len() as u32).to_be_bytes());
            code.extend(content);
        }
        let mut method = Vec::new();
        let head = [body.access, self.utf8(body.name), self.utf8(body.descriptor), 1];
        for number in [head[0], head[1], head[2], head[3], self.utf8("Code")] {
            method.extend(number.to_be_bytes());
        }
        method.extend((code.len() as u32).to_be_bytes());
        method.extend(code);
        self.methods.push(method);
    }

    pub fn finish(self) -> Vec<u8> {
        let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
        bytes.extend(self.version.to_be_bytes());
        bytes.extend((self.constants.len() as u16 + 1).to_be_bytes());
        bytes.extend(self.constants.concat());
        // Public; this class, its super class; no interfaces, no fields.
        for number in [0x21, 2, 4, 0, 0, self.methods.len() as u16] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(self.methods.concat());
        bytes.extend([0; 2]);
        bytes
    }
}
