//! Function names without what differs between builds: versions, clones, template arguments,
//! parameters, the underscores of libc's inner names.

/// `___pthread_cond_timedwait64` → `pthread_cond_timedwait64`, `pthread_cond_wait@@GLIBC_2.3.2` →
/// `pthread_cond_wait`, `TTASEventMutex<GenericPolicy>::enter` → `TTASEventMutex::enter`,
/// `lock_rec_lock.part.3` → `lock_rec_lock`.
pub(super) fn plain(name: &str) -> String {
    let name = name
        .split("@GLIBC")
        .next()
        .unwrap_or(name)
        .trim_end_matches('@');
    let name = without_clone(name);
    let name = without_templates(name);
    let name = without_parameters(&name);
    let name = without_return_type(name);
    let name = name.strip_prefix("__GI_").unwrap_or(name);
    // One underscore belongs to the name (`_int_malloc`, `_L_lock_12`); two and more are libc's
    // way of writing an inner alias.
    match name.strip_prefix("__") {
        Some(rest) => {
            let rest = rest.trim_start_matches('_');
            rest.strip_prefix("libc_").unwrap_or(rest).to_owned()
        }
        None => name.to_owned(),
    }
}

/// The compiler's copies of a function are the function.
fn without_clone(name: &str) -> &str {
    const SUFFIXES: [&str; 7] = [
        " [clone ",
        ".part.",
        ".constprop.",
        ".isra.",
        ".cold",
        ".clone.",
        ".lto_priv.",
    ];
    let end = SUFFIXES.iter().filter_map(|suffix| name.find(suffix)).min();
    end.map_or(name, |end| &name[..end])
}

/// Removes `<…>`, nested ones too; what is opened and not closed ends the name. `operator<`,
/// `operator<<`, `operator->` keep their signs.
fn without_templates(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let mut depth = 0_usize;
    for letter in name.chars() {
        let of_operator = depth == 0
            && (kept.ends_with("operator")
                || kept.ends_with("operator<")
                || kept.ends_with("operator-"));
        match letter {
            '<' if !of_operator => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

/// Cuts `(…)` at the end; keeps `(anonymous namespace)::` and `operator()`.
fn without_parameters(name: &str) -> &str {
    let mut from = 0;
    while let Some(at) = name[from..].find('(') {
        let at = from + at;
        let rest = &name[at..];
        if let Some(inner) = rest.strip_prefix("(anonymous namespace)") {
            from = name.len() - inner.len();
        } else if name[..at].ends_with("operator") && rest.starts_with("()") {
            from = at + 2;
        } else {
            return name[..at].trim_end();
        }
    }
    name.trim_end()
}

/// `void std::invoke` → `std::invoke`; `operator new` and the anonymous namespace stay.
fn without_return_type(name: &str) -> &str {
    if name.contains("operator ") || name.contains("(anonymous") {
        return name;
    }
    name.rsplit(' ').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_differs_between_builds_is_gone() {
        for (name, expected) in [
            ("pthread_cond_wait@@GLIBC_2.3.2", "pthread_cond_wait"),
            ("___pthread_cond_timedwait64", "pthread_cond_timedwait64"),
            ("__GI___libc_malloc", "malloc"),
            ("__libc_free", "free"),
            ("_int_free", "_int_free"),
            ("_L_lock_1022", "_L_lock_1022"),
            ("__lll_lock_wait_private", "lll_lock_wait_private"),
            (
                "TTASEventMutex<GenericPolicy>::spin_and_try_lock",
                "TTASEventMutex::spin_and_try_lock",
            ),
            ("PolicyMutex<TTASEventMutex<GenericPolicy>", "PolicyMutex"),
            (
                "sux_lock<ssux_lock_impl<true> >::x_lock",
                "sux_lock::x_lock",
            ),
            (
                "void std::__invoke_impl<void, void (*)()>",
                "std::__invoke_impl",
            ),
            ("lock_rec_lock.part.3", "lock_rec_lock"),
            ("btr_cur_latch_leaves.clone.24", "btr_cur_latch_leaves"),
            ("f [clone .isra.0]", "f"),
            ("operator new(unsigned long)", "operator new"),
            ("std::operator<< <char>", "std::operator<<"),
            (
                "(anonymous namespace)::work(int)",
                "(anonymous namespace)::work",
            ),
            ("F::operator()(int) const", "F::operator()"),
            ("mariadbd+0x7a3f10", "mariadbd+0x7a3f10"),
            ("", ""),
            ("<", ""),
            ("__", ""),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
    }
}
