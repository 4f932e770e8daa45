//! Names of functions of the standard libraries, by what they allocate for.

pub(super) const COPIES: &[&str] = &[
    "clone",
    "to_owned",
    "to_vec",
    "clone_from",
    "cloned",
    "into_owned",
    "strdup",
    "__strdup",
    "strndup",
    "__strndup",
    "wcsdup",
    "_M_construct",
    "_M_assign",
    "basic_string",
    "substr",
];
pub(super) const FORMATS: &[&str] = &[
    "format",
    "format_inner",
    "to_string",
    "spec_to_string",
    "asprintf",
    "vasprintf",
    "__vasprintf_internal",
    "__asprintf_chk",
    "operator+",
    "__str_concat",
];
pub(super) const CASES: &[&str] =
    &["to_uppercase", "to_lowercase", "to_ascii_uppercase", "to_ascii_lowercase"];
/// Functions of `std::path` that make a new path of another one.
pub(super) const PATHS: &[&str] = &["join", "_join", "with_extension", "with_file_name", "path"];
/// Classes of C++ that write text into a buffer of their own, and read it.
pub(super) const STREAMS: &[&str] = &[
    "basic_stringbuf",
    "basic_ostringstream",
    "basic_istringstream",
    "basic_stringstream",
    "basic_strstream",
];
/// Functions that read a line into a buffer that they make larger.
pub(super) const READS: &[&str] = &["getline", "getdelim", "_IO_getdelim", "__getdelim", "__getline"];
pub(super) const GROWS: &[&str] = &[
    "grow_one",
    "grow_amortized",
    "finish_grow",
    "do_reserve_and_handle",
    "reserve_for_push",
    "_M_realloc_insert",
    "_M_realloc_append",
    "_M_default_append",
    "_M_range_insert",
    "_M_fill_insert",
    "_M_append_range",
    "_M_append",
    "_M_mutate",
    "_M_replace",
    "_M_replace_aux",
    "push_back",
    "emplace_back",
    "append",
];
pub(super) const MAP_GROWS: &[&str] = &["reserve_rehash", "_M_rehash", "_M_rehash_aux"];
pub(super) const NODES: &[&str] =
    &["_M_get_node", "_M_create_node", "_M_allocate_node", "_M_allocate_node_ptr", "_M_insert_node"];
pub(super) const COLLECTS: &[&str] =
    &["collect", "from_iter", "spec_from_iter", "spec_from_iter_nested", "from_iter_exact"];
pub(super) const BOXES: &[&str] = &[
    "exchange_malloc",
    "box_new",
    "make_unique",
    "make_shared",
    "allocate_shared",
    "__shared_count",
    "__allocate_shared",
];
/// `new T`, and `new T[n]`, which is a buffer. Their plain names are the same.
pub(crate) const ONE_OBJECT: &str = "operator new";
pub(super) const ARRAY: &str = "operator new[]";
pub(super) const RESERVES: &[&str] = &[
    "with_capacity",
    "with_capacity_in",
    "from_elem",
    "reserve",
    "reserve_exact",
    "try_reserve",
    "try_reserve_exact",
    "resize",
    "allocate_in",
    "_M_allocate",
    "_M_create_storage",
];
pub(super) const DIRECT: &[&str] =
    &["operator new", "operator new[]", "malloc", "calloc", "realloc", "reallocarray", "aligned_alloc"];
