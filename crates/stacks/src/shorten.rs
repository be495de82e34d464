//! Functions' names as people write them.
//!
//! `_ZN11ha_innobase10index_readEPhPKhj16ha_rkey_function.part.0` becomes `ha_innobase::index_read`: demangled, without
//! return type, parameters, qualifiers, ABI tags and the suffixes of copies that compilers make (`.part.0`, `.cold`).
//! Arguments of templates become `<>`: `std::vector<>::push_back`. Lambdas become `{lambda}`, closures `{closure}`.

use std::cmp::Ordering;
use std::fmt::{self, Write};

/// Names of generated code can be far longer; nobody reads them.
const NAME_BYTES_MAX: usize = 512;
/// A demangled name can be exponentially longer than the mangled one.
const DEMANGLED_BYTES_MAX: usize = 16 << 10;
/// Brackets nest this deep at most; deeper text is left as it is.
const NESTING_MAX: usize = 64;

/// Suffixes of parts and copies of a function: gcc's passes, clang's, the linker's.
const CLONES: [&str; 11] = [
    ".part",
    ".isra",
    ".constprop",
    ".cold",
    ".lto_priv",
    ".llvm",
    ".clone",
    ".localalias",
    ".ipa",
    ".warm",
    ".hot",
];

/// Functions of glibc whose exported name is the one behind `__libc_`.
const LIBC_ALIASES: [&str; 48] = [
    "accept",
    "calloc",
    "clock_nanosleep",
    "close",
    "connect",
    "creat",
    "dlclose",
    "dlopen",
    "dlsym",
    "fallocate",
    "fcntl",
    "fcntl64",
    "fork",
    "free",
    "fsync",
    "lseek",
    "lseek64",
    "malloc",
    "mallopt",
    "memalign",
    "msgrcv",
    "msgsnd",
    "msync",
    "nanosleep",
    "open",
    "open64",
    "openat",
    "pause",
    "poll",
    "pread",
    "pread64",
    "pvalloc",
    "pwrite",
    "pwrite64",
    "read",
    "readv",
    "realloc",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendmsg",
    "sendto",
    "sigaction",
    "system",
    "valloc",
    "write",
    "writev",
];

/// A symbol's name for people. Never empty unless the symbol is.
pub fn shorten(symbol: &str) -> String {
    // `name@@VERSION`, `name@VERSION`: the version of an exported symbol.
    let plain = match symbol.split_once('@') {
        Some((name, _)) if !name.is_empty() => name,
        _ => symbol,
    };
    let short = demangled(plain).map_or_else(|| c_name(plain).to_owned(), |name| collapse(&name));
    limited(if short.trim().is_empty() {
        plain.to_owned()
    } else {
        short
    })
}

/// A function's name as debuggers and profilers print it, demangled already, for people.
pub fn shorten_printed(name: &str) -> String {
    let plain = match name.split_once('@') {
        Some((plain, _)) if !plain.is_empty() => plain,
        _ => name,
    };
    if is_mangled(plain) {
        return shorten(plain);
    }
    let clone = plain.split(" [clone ").next().unwrap_or(plain);
    let short = collapse(c_name(clone));
    limited(if short.trim().is_empty() {
        plain.to_owned()
    } else {
        short
    })
}

/// Orders symbols of the same address: the one that people know comes first. Exported before local, whole functions
/// before copies, without leading underscores, short.
pub(crate) fn rank<'a>(local: bool, name: &'a str) -> impl Ord + use<'a> {
    let underscores = if is_mangled(name) {
        0
    } else {
        name.bytes().take_while(|&byte| byte == b'_').count()
    };
    Rank(
        local,
        c_name(name).len() != name.len(),
        underscores,
        name.len(),
        name,
    )
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank<'a>(bool, bool, usize, usize, &'a str);

fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R")
}

fn limited(mut name: String) -> String {
    if name.len() > NAME_BYTES_MAX {
        name.truncate(name.floor_char_boundary(NAME_BYTES_MAX - '…'.len_utf8()));
        name.push('…');
    }
    name
}

/// Text up to [`DEMANGLED_BYTES_MAX`]; more is an error.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > DEMANGLED_BYTES_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn demangled(symbol: &str) -> Option<String> {
    if !is_mangled(symbol) {
        return None;
    }
    let mut text = Bounded(String::new());
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        write!(text, "{rust:#}").ok()?;
        return Some(text.0);
    }
    let base = symbol.split_once('.').map_or(symbol, |(base, _)| base);
    let parsed = cpp_demangle::Symbol::new(base).ok()?;
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    parsed
        .structured_demangle(&mut Adapter(&mut text), &options)
        .ok()?;
    Some(text.0)
}

struct Adapter<'a>(&'a mut Bounded);

impl cpp_demangle::DemangleWrite for Adapter<'_> {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(text)
    }
}

/// The name of a C function without what compilers and glibc put around it.
fn c_name(symbol: &str) -> &str {
    let mut name = symbol;
    while let Some(shorter) = without_clone(name) {
        name = shorter;
    }
    let name = name
        .strip_prefix("__GI_")
        .filter(|rest| !rest.is_empty())
        .unwrap_or(name);
    match name.strip_prefix("__libc_") {
        Some(public) if LIBC_ALIASES.contains(&public) => public,
        _ => name,
    }
}

fn without_clone(name: &str) -> Option<&str> {
    // `.part.0`, `.cold`: a word, and perhaps a number.
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let base = if digits.len() < name.len() {
        digits.strip_suffix('.').unwrap_or(name)
    } else {
        name
    };
    CLONES
        .iter()
        .find_map(|clone| base.strip_suffix(clone))
        .filter(|rest| !rest.is_empty())
}

/// Takes parameters, template arguments, tags and qualifiers out of a demangled name.
fn collapse(name: &str) -> String {
    let mut name = name;
    const FOR_ANOTHER: [&str; 4] = [
        "non-virtual thunk to ",
        "virtual thunk to ",
        "covariant return thunk to ",
        "transaction clone for ",
    ];
    for words in FOR_ANOTHER {
        name = name.strip_prefix(words).unwrap_or(name);
    }
    // As cpp_demangle writes them: `{virtual override thunk({offset(-16)}, Foo::bar)}`.
    if let Some((head, target)) = name.rsplit_once("}, ")
        && head.starts_with('{')
        && head.contains(" thunk(")
    {
        name = target.strip_suffix(")}").unwrap_or(target);
    }
    let mut out = String::with_capacity(name.len());
    collapse_into(name, &mut out, 0);
    let mut short = out.trim();
    while let Some(rest) = [" const", " volatile", " &&", " &"]
        .iter()
        .find_map(|tail| short.strip_suffix(tail))
    {
        short = rest.trim_end();
    }
    short.to_owned()
}

fn collapse_into(text: &str, out: &mut String, nesting: usize) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(length) = operator(rest, out) {
            let (token, after) = rest.split_at(length);
            out.push_str(token);
            rest = after;
            continue;
        }
        let taken = match first {
            '<' => angle(rest, out, nesting),
            '(' => round(rest, out),
            '{' => curly(rest, out),
            '[' => closing(rest).filter(|_| rest.starts_with("[abi:")),
            _ => None,
        };
        let length = taken.unwrap_or_else(|| {
            out.push(first);
            first.len_utf8()
        });
        rest = rest.get(length..).unwrap_or("");
    }
}

/// The length of `operator` and its sign at the start of the text, where it is that word and its sign has brackets.
fn operator(text: &str, before: &str) -> Option<usize> {
    const WORD: &str = "operator";
    const SIGNS: [&str; 13] = [
        "()", "[]", "<=>", "->*", "<<=", ">>=", "->", "<<", ">>", "<=", ">=", "<", ">",
    ];
    let sign = text.strip_prefix(WORD)?;
    if before.ends_with(is_identifier) {
        return None;
    }
    let found = SIGNS.iter().find(|known| sign.starts_with(**known))?;
    Some(WORD.len() + found.len())
}

fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Arguments of a template or a generic function, or the `<Type as Trait>` at the start of a Rust path.
fn angle(text: &str, out: &mut String, nesting: usize) -> Option<usize> {
    let length = closing(text)?;
    let after_path = out.ends_with("::");
    let arguments = after_path
        || out.ends_with(|c: char| is_identifier(c) || matches!(c, '}' | ')' | '>' | ']' | '"'));
    if ends_with_operator(out.trim_end()) {
        // `operator<< <int>`: the sign is enough.
        out.truncate(out.trim_end().len());
    } else if arguments {
        if after_path {
            out.truncate(out.len() - 2);
        }
        if !out.ends_with("<>") {
            out.push_str("<>");
        }
    } else if nesting < NESTING_MAX {
        out.push('<');
        let mut inner = String::new();
        collapse_into(
            text.get(1..length - 1).unwrap_or(""),
            &mut inner,
            nesting + 1,
        );
        out.push_str(inner.trim());
        out.push('>');
    } else {
        return None;
    }
    Some(length)
}

/// The text ends with `operator` and a sign.
fn ends_with_operator(text: &str) -> bool {
    text.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '_')
        .ends_with("operator")
        && !text.ends_with("operator")
}

/// Parameters, and the qualifiers behind them.
fn round(text: &str, out: &str) -> Option<usize> {
    if text.starts_with("(anonymous namespace)") || out.trim().is_empty() {
        return None;
    }
    let length = closing(text)?;
    let mut rest = text.get(length..)?;
    while let Some(after) = [" const", " volatile", " &&", " &", " noexcept"]
        .iter()
        .find_map(|word| rest.strip_prefix(word))
    {
        rest = after;
    }
    Some(text.len() - rest.len())
}

/// `{lambda(int)#1}`, `{closure#0}`, `{{closure}}`, `{unnamed type#2}`.
fn curly(text: &str, out: &mut String) -> Option<usize> {
    let length = closing(text)?;
    let inner = text.get(1..length - 1)?.trim_matches(['{', '}']);
    let word = inner.split(['(', '#']).next().unwrap_or(inner);
    let word = word.strip_suffix(" type").unwrap_or(word).trim();
    if word.is_empty() {
        return None;
    }
    out.push('{');
    out.push_str(word);
    out.push('}');
    Some(length)
}

/// Length of the bracketed text at the start.
fn closing(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut before = '\0';
    let mut skip_to = 0;
    for (at, c) in text.char_indices() {
        if at < skip_to {
            before = c;
            continue;
        }
        if c == 'o'
            && !is_identifier(before)
            && let Some(length) = operator(text.get(at..)?, "")
        {
            skip_to = at + length;
            before = c;
            continue;
        }
        match c {
            '<' | '(' | '{' | '[' => open.push(c),
            // An arrow or a shift in an expression closes nothing.
            '>' if before == '-' || before == '=' => {}
            '>' | ')' | '}' | ']' => {
                let wanted = match c {
                    '>' => '<',
                    ')' => '(',
                    '}' => '{',
                    _ => '[',
                };
                // A comparison inside of parentheses is no bracket.
                if wanted != '<' {
                    while open.last().is_some_and(|last| *last == '<') {
                        open.pop();
                    }
                }
                match open.last().map(|last| last.cmp(&wanted)) {
                    Some(Ordering::Equal) => {
                        open.pop();
                    }
                    _ if wanted == '<' => {}
                    _ => return None,
                }
                if open.is_empty() {
                    return Some(at + c.len_utf8());
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}
