//! Words compared without regard to case and without allocation.

/// Longest word that is ever compared (`processlist`, `transaction`), in bytes.
const SHORT_WORD_BYTES_MAX: usize = 16;

/// A word in lower case; empty when the word is longer than any word that is compared.
#[derive(Clone, Copy, Default)]
pub(crate) struct ShortWord {
    bytes: [u8; SHORT_WORD_BYTES_MAX],
    length: usize,
}

impl ShortWord {
    pub(crate) fn new(word: &str) -> Self {
        let mut short = Self::default();
        if word.len() <= SHORT_WORD_BYTES_MAX {
            short.length = word.len();
            for (to, from) in short.bytes.iter_mut().zip(word.bytes()) {
                *to = from.to_ascii_lowercase();
            }
        }
        short
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Whether an expression or a parenthesised query starts after this word: a sign that follows is a number's sign, and
/// a parenthesis that follows is not a function's. Reserved words only, so that no column is called like this
/// (MySQL 8.4 Reference Manual, 11.3 "Keywords and Reserved Words"). `default` is left out: it is an operand.
pub(crate) fn expects_operand(word: ShortWord) -> bool {
    matches!(
        word.as_bytes(),
        b"all"
            | b"and"
            | b"as"
            | b"between"
            | b"by"
            | b"case"
            | b"distinct"
            | b"div"
            | b"else"
            | b"except"
            | b"exists"
            | b"from"
            | b"having"
            | b"in"
            | b"intersect"
            | b"interval"
            | b"into"
            | b"is"
            | b"join"
            | b"like"
            | b"limit"
            | b"mod"
            | b"not"
            | b"on"
            | b"or"
            | b"regexp"
            | b"return"
            | b"rlike"
            | b"select"
            | b"set"
            | b"then"
            | b"union"
            | b"using"
            | b"values"
            | b"when"
            | b"where"
            | b"xor"
    )
}

/// Whether a sign after this word belongs to a number although a parenthesis may be a function's: `DEFAULT -1`,
/// `DEFAULT(a)`. Reserved words too.
pub(crate) fn takes_sign(word: ShortWord) -> bool {
    matches!(
        word.as_bytes(),
        b"binary" | b"default" | b"distinctrow" | b"elseif" | b"high_priority" | b"straight_join"
    )
}

/// Whether this is a character set's name, so that `_name` before a literal is an introducer.
/// Sources: `SHOW CHARACTER SET` of MySQL 5.5 to 9 and MariaDB 10 and 11.
pub(crate) fn is_character_set(name: &str) -> bool {
    matches!(
        ShortWord::new(name).as_bytes(),
        b"armscii8"
            | b"ascii"
            | b"big5"
            | b"binary"
            | b"cp1250"
            | b"cp1251"
            | b"cp1256"
            | b"cp1257"
            | b"cp850"
            | b"cp852"
            | b"cp866"
            | b"cp932"
            | b"dec8"
            | b"eucjpms"
            | b"euckr"
            | b"filename"
            | b"gb18030"
            | b"gb2312"
            | b"gbk"
            | b"geostd8"
            | b"greek"
            | b"hebrew"
            | b"hp8"
            | b"keybcs2"
            | b"koi8r"
            | b"koi8u"
            | b"latin1"
            | b"latin2"
            | b"latin5"
            | b"latin7"
            | b"macce"
            | b"macroman"
            | b"sjis"
            | b"swe7"
            | b"tis620"
            | b"ucs2"
            | b"ujis"
            | b"utf16"
            | b"utf16le"
            | b"utf32"
            | b"utf8"
            | b"utf8mb3"
            | b"utf8mb4"
    )
}
