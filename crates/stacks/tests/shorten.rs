//! Names as people write them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use proptest::prelude::*;
use stacks::shorten::shorten;

#[test]
fn symbols_of_servers_and_libraries() {
    for (symbol, name) in [
        (
            "_ZN11ha_innobase10index_readEPhPKhj16ha_rkey_function",
            "ha_innobase::index_read",
        ),
        (
            "_ZN11ha_innobase10index_readEPhPKhj16ha_rkey_function.part.0",
            "ha_innobase::index_read",
        ),
        (
            "_Z16dispatch_command19enum_server_commandP3THDPcjb.constprop.0.isra.1",
            "dispatch_command",
        ),
        (
            "_Z26handle_connections_socketsv.cold",
            "handle_connections_sockets",
        ),
        ("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<>::size"),
        (
            "_ZNSt6vectorIiSaIiEE9push_backERKi",
            "std::vector<>::push_back",
        ),
        ("_ZSt4sortIPiEvT_S1_", "std::sort<>"),
        ("_ZlsRSoRK3Foo", "operator<<"),
        ("_ZN3FooltERKS_", "Foo::operator<"),
        ("_ZN3FooclEv", "Foo::operator()"),
        (
            "_ZN2ib6loggerlsI12table_name_tEERS0_RKT_",
            "ib::logger::operator<<",
        ),
        ("_Znwm", "operator new"),
        ("_ZdaPv", "operator delete[]"),
        ("_ZN3FoocvbEv", "Foo::operator bool"),
        ("_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work"),
        (
            "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm",
            "std::__cxx11::basic_string<>::_M_create",
        ),
        ("_ZN3FooC1Ev", "Foo::Foo"),
        ("_ZN3FooD0Ev", "Foo::~Foo"),
        ("_ZThn16_N3Foo3barEv", "Foo::bar"),
        (
            "_ZZN3foo3barEvENKUlvE_clEv",
            "foo::bar::{lambda}::operator()",
        ),
        (
            "_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17h0123456789abcdefE",
            "core::ptr::drop_in_place<>",
        ),
        (
            "_ZN4main4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
            "main::main::{closure}",
        ),
        ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
        ("btr_cur_search_to_nth_level", "btr_cur_search_to_nth_level"),
        ("log_write_up_to.constprop.0", "log_write_up_to"),
        ("row_search_mvcc.part.12.cold", "row_search_mvcc"),
        ("my_fn.lto_priv.0", "my_fn"),
        ("mutex_lock.llvm.1234567890", "mutex_lock"),
        ("__GI___libc_malloc", "malloc"),
        ("__libc_start_main@@GLIBC_2.34", "__libc_start_main"),
        ("pthread_cond_wait@GLIBC_2.2.5", "pthread_cond_wait"),
        ("__GI___poll", "__poll"),
        ("_start", "_start"),
        (".cold", ".cold"),
        ("", ""),
    ] {
        assert_eq!(shorten(symbol), name, "{symbol}");
    }
}

#[test]
fn names_have_an_end() {
    let long = "a".repeat(10_000);
    assert!(shorten(&long).len() <= 512);
    assert!(shorten(&"é".repeat(1000)).ends_with("é…"));
    // A name of 120 bytes that stands for one of many megabytes.
    let bomb = format!("_Z1fI1A{}EvT_", "S_IS0_S0_E".repeat(10));
    assert!(shorten(&bomb).len() <= 512);
}

proptest! {
    #[test]
    fn any_text(text in ".{0,80}") {
        prop_assert_eq!(shorten(&text).is_empty(), text.is_empty());
    }

    #[test]
    fn anything_that_looks_like_a_name(text in r"_?[ZR]?[ZNIKLSTUVEclv<>(){}\[\]0-9a-z_.@ ~&:,$-]{0,60}") {
        prop_assert_eq!(shorten(&text).is_empty(), text.is_empty());
    }

    #[test]
    fn mangled_with_damage(at in 0_usize..60, with in "[0-9A-Za-z_]{1,4}") {
        let mut text = "_ZNSt6vectorISt4pairIKSsPFvRKS0_iEESaIS4_EE9push_backERKS4_".to_owned();
        text.replace_range(at.min(text.len())..(at + 1).min(text.len()), &with);
        prop_assert!(!shorten(&text).is_empty());
    }

    #[test]
    fn plain_names_stay(name in "[a-z][a-z0-9_]{0,30}") {
        prop_assert_eq!(shorten(&name), name);
    }
}
