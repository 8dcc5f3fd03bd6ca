//! The names of the built-ins that [`super::functions`] holds harmless, by who has them since when.
//!
//! Sources: MySQL 8.4 and 9 manuals, "Built-In Function and Operator Reference" and "Loadable Function
//! Reference" (whose names are left out); MariaDB Knowledge Base, "Function and Operator Reference".

use super::dialect::{Dialect, ServerFamily};

/// Built-ins that came together: the first versions of MySQL and MariaDB that have them (a later one
/// where in doubt), and MySQL's first without them.
struct Group {
    mysql: u32,
    mysql_end: u32,
    mariadb: u32,
    /// Sorted, for a binary search.
    names: &'static [&'static str],
}

const NEVER: u32 = u32::MAX;

/// Whether the dialect's server has a harmless built-in of this name, given in upper case.
pub(super) fn is_harmless(name: &str, dialect: &Dialect) -> bool {
    GROUPS.iter().any(|group| {
        let present = match dialect.family {
            ServerFamily::MySql => group.mysql <= dialect.version && dialect.version < group.mysql_end,
            ServerFamily::MariaDb => group.mariadb <= dialect.version,
        };
        present && group.names.binary_search(&name).is_ok()
    })
}

#[rustfmt::skip]
static GROUPS: &[Group] = &[
    // In every supported version of both families.
    Group { mysql: 0, mysql_end: NEVER, mariadb: 0, names: &[
        "ABS", "ACOS", "ADDDATE", "ADDTIME", "AES_DECRYPT", "AES_ENCRYPT", "ASCII", "ASIN", "ATAN",
        "ATAN2", "AVG", "BENCHMARK", "BIN", "BIT_AND", "BIT_COUNT", "BIT_LENGTH", "BIT_OR",
        "BIT_XOR", "CAST", "CEIL", "CEILING", "CHAR", "CHARACTER_LENGTH", "CHARSET", "CHAR_LENGTH",
        "COALESCE", "COERCIBILITY", "COLLATION", "COMPRESS", "CONCAT", "CONCAT_WS", "CONV",
        "CONVERT", "CONVERT_TZ", "COS", "COT", "COUNT", "CRC32", "CURDATE", "CURRENT_DATE",
        "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "CURTIME", "DATABASE", "DATE",
        "DATEDIFF", "DATE_ADD", "DATE_FORMAT", "DATE_SUB", "DAY", "DAYNAME", "DAYOFMONTH",
        "DAYOFWEEK", "DAYOFYEAR", "DEFAULT", "DEGREES", "ELT", "EXP", "EXPORT_SET", "EXTRACT",
        "EXTRACTVALUE", "FIELD", "FIND_IN_SET", "FLOOR", "FORMAT", "FROM_BASE64", "FROM_DAYS",
        "FROM_UNIXTIME", "GEOMETRYCOLLECTION", "GET_FORMAT", "GREATEST", "GROUP_CONCAT", "HEX",
        "HOUR", "IF", "IFNULL", "INET6_ATON", "INET6_NTOA", "INET_ATON", "INET_NTOA", "INSERT",
        "INSTR", "INTERVAL", "ISNULL", "IS_IPV4", "IS_IPV4_COMPAT", "IS_IPV4_MAPPED", "IS_IPV6",
        "LAST_DAY", "LCASE", "LEAST", "LEFT", "LENGTH", "LINESTRING", "LN", "LOCALTIME",
        "LOCALTIMESTAMP", "LOCATE", "LOG", "LOG10", "LOG2", "LOWER", "LPAD", "LTRIM", "MAKEDATE",
        "MAKETIME", "MAKE_SET", "MATCH", "MAX", "MBRCONTAINS", "MBRDISJOINT",
        "MBRINTERSECTS", "MBROVERLAPS", "MBRTOUCHES", "MBRWITHIN", "MICROSECOND", "MID",
        "MIN", "MINUTE", "MOD", "MONTH", "MONTHNAME", "MULTILINESTRING", "MULTIPOINT",
        "MULTIPOLYGON", "NAME_CONST", "NOW", "NULLIF", "OCT", "OCTET_LENGTH", "ORD", "PERIOD_ADD",
        "PERIOD_DIFF", "PI", "POINT", "POLYGON", "POSITION", "POW", "POWER", "QUARTER", "QUOTE",
        "RADIANS", "RAND", "REPEAT", "REPLACE", "REVERSE", "RIGHT", "ROUND", "RPAD", "RTRIM",
        "SCHEMA", "SECOND", "SEC_TO_TIME", "SESSION_USER", "SHA2", "SIGN", "SIN",
        "SLEEP", "SOUNDEX", "SPACE", "SQRT", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "STRCMP",
        "STR_TO_DATE", "ST_AREA", "ST_ASBINARY", "ST_ASTEXT", "ST_ASWKB", "ST_ASWKT", "ST_BUFFER",
        "ST_CENTROID", "ST_CONTAINS", "ST_CROSSES", "ST_DIFFERENCE", "ST_DIMENSION", "ST_DISJOINT",
        "ST_DISTANCE", "ST_ENDPOINT", "ST_ENVELOPE", "ST_EQUALS", "ST_EXTERIORRING",
        "ST_GEOMCOLLFROMTEXT", "ST_GEOMCOLLFROMWKB", "ST_GEOMETRYCOLLECTIONFROMTEXT",
        "ST_GEOMETRYCOLLECTIONFROMWKB", "ST_GEOMETRYFROMTEXT", "ST_GEOMETRYFROMWKB", "ST_GEOMETRYN",
        "ST_GEOMETRYTYPE", "ST_GEOMFROMTEXT", "ST_GEOMFROMWKB", "ST_INTERIORRINGN",
        "ST_INTERSECTION", "ST_INTERSECTS", "ST_ISCLOSED", "ST_ISEMPTY", "ST_ISSIMPLE", "ST_LENGTH",
        "ST_LINEFROMTEXT", "ST_LINEFROMWKB", "ST_LINESTRINGFROMTEXT", "ST_LINESTRINGFROMWKB",
        "ST_NUMGEOMETRIES", "ST_NUMINTERIORRINGS", "ST_NUMPOINTS", "ST_OVERLAPS",
        "ST_POINTFROMTEXT", "ST_POINTFROMWKB", "ST_POINTN", "ST_POLYFROMTEXT", "ST_POLYFROMWKB",
        "ST_POLYGONFROMTEXT", "ST_POLYGONFROMWKB", "ST_SRID", "ST_STARTPOINT", "ST_SYMDIFFERENCE",
        "ST_TOUCHES", "ST_UNION", "ST_WITHIN", "ST_X", "ST_Y", "SUBDATE", "SUBSTR", "SUBSTRING",
        "SUBSTRING_INDEX", "SUBTIME", "SUM", "SYSDATE", "SYSTEM_USER", "TAN", "TIME", "TIMEDIFF",
        "TIMESTAMP", "TIMESTAMPADD", "TIMESTAMPDIFF", "TIME_FORMAT", "TIME_TO_SEC", "TO_BASE64",
        "TO_DAYS", "TO_SECONDS", "TRIM", "TRUNCATE", "UCASE", "UNCOMPRESS", "UNCOMPRESSED_LENGTH",
        "UNHEX", "UNIX_TIMESTAMP", "UPDATEXML", "UPPER", "USER", "UTC_DATE", "UTC_TIME",
        "UTC_TIMESTAMP", "UUID", "UUID_SHORT", "VALUES", "VARIANCE", "VAR_POP", "VAR_SAMP", "WEEK",
        "WEEKDAY", "WEEKOFYEAR", "WEIGHT_STRING", "YEAR", "YEARWEEK",
    ] },
    // JSON and geometry that both families have since MySQL 5.7 and MariaDB 10.5.
    Group { mysql: 50_722, mysql_end: NEVER, mariadb: 100_500, names: &[
        "JSON_ARRAY", "JSON_ARRAYAGG", "JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT", "JSON_CONTAINS",
        "JSON_CONTAINS_PATH", "JSON_DEPTH", "JSON_EXTRACT", "JSON_INSERT", "JSON_KEYS",
        "JSON_LENGTH", "JSON_MERGE", "JSON_MERGE_PATCH", "JSON_MERGE_PRESERVE", "JSON_OBJECT",
        "JSON_OBJECTAGG", "JSON_PRETTY", "JSON_QUOTE", "JSON_REMOVE", "JSON_REPLACE", "JSON_SEARCH",
        "JSON_SET", "JSON_TYPE", "JSON_UNQUOTE", "JSON_VALID", "ST_ASGEOJSON", "ST_CONVEXHULL",
        "ST_DISTANCE_SPHERE", "ST_GEOMFROMGEOJSON",
    ] },
    // Removed by MySQL 9.6, whose component of the same names is loadable.
    Group { mysql: 0, mysql_end: 90_600, mariadb: 0, names: &["MD5", "SHA", "SHA1"] },
    // SQL/JSON of MySQL 8 and MariaDB 10.11 on.
    Group { mysql: 80_021, mysql_end: NEVER, mariadb: 101_101, names: &[
        "JSON_OVERLAPS", "JSON_TABLE", "JSON_VALUE",
    ] },
    Group { mysql: 80_017, mysql_end: NEVER, mariadb: 110_101, names: &["JSON_SCHEMA_VALID"] },
    // MySQL since 5.7 alone.
    Group { mysql: 50_722, mysql_end: NEVER, mariadb: NEVER, names: &[
        "ANY_VALUE", "GTID_SUBSET", "GTID_SUBTRACT", "JSON_STORAGE_SIZE", "MBRCOVEREDBY",
        "MBRCOVERS", "MBREQUALS", "ST_GEOHASH", "ST_ISVALID", "ST_LATFROMGEOHASH",
        "ST_LONGFROMGEOHASH", "ST_MAKEENVELOPE", "ST_MLINEFROMTEXT", "ST_MLINEFROMWKB",
        "ST_MPOINTFROMTEXT", "ST_MPOINTFROMWKB", "ST_MPOLYFROMTEXT", "ST_MPOLYFROMWKB",
        "ST_MULTILINESTRINGFROMTEXT", "ST_MULTILINESTRINGFROMWKB", "ST_MULTIPOINTFROMTEXT",
        "ST_MULTIPOINTFROMWKB", "ST_MULTIPOLYGONFROMTEXT", "ST_MULTIPOLYGONFROMWKB",
        "ST_POINTFROMGEOHASH", "ST_SIMPLIFY", "ST_VALIDATE", "VALIDATE_PASSWORD_STRENGTH",
    ] },
    // MySQL since 8.0 alone.
    Group { mysql: 80_016, mysql_end: NEVER, mariadb: NEVER, names: &[
        "BIN_TO_UUID", "FORMAT_BYTES", "FORMAT_PICO_TIME", "GEOMCOLLECTION", "GROUPING",
        "ICU_VERSION", "IS_UUID", "JSON_STORAGE_FREE", "REGEXP_LIKE", "STATEMENT_DIGEST",
        "STATEMENT_DIGEST_TEXT", "ST_COLLECT", "ST_FRECHETDISTANCE", "ST_HAUSDORFFDISTANCE",
        "ST_LATITUDE", "ST_LINEINTERPOLATEPOINT", "ST_LINEINTERPOLATEPOINTS", "ST_LONGITUDE",
        "ST_POINTATDISTANCE", "ST_SWAPXY", "ST_TRANSFORM", "UUID_TO_BIN",
    ] },
    // MySQL since 8.0.17.
    Group { mysql: 80_017, mysql_end: NEVER, mariadb: NEVER, names: &[
        "JSON_SCHEMA_VALIDATION_REPORT",
    ] },
    // MySQL since 9.0: vectors.
    Group { mysql: 90_000, mysql_end: NEVER, mariadb: NEVER, names: &[
        "FROM_VECTOR", "STRING_TO_VECTOR", "TO_VECTOR", "VECTOR_DIM", "VECTOR_TO_STRING",
    ] },
    // Window functions, and the regular expressions that both have.
    Group { mysql: 80_004, mysql_end: NEVER, mariadb: 100_203, names: &[
        "CUME_DIST", "DENSE_RANK", "FIRST_VALUE", "LAG", "LAST_VALUE", "LEAD", "NTH_VALUE", "NTILE",
        "PERCENT_RANK", "RANK", "REGEXP_INSTR", "REGEXP_REPLACE", "REGEXP_SUBSTR", "ROW_NUMBER",
    ] },
    // Both, MariaDB late.
    Group { mysql: 50_617, mysql_end: NEVER, mariadb: 101_000, names: &[
        "RANDOM_BYTES",
    ] },
    // Removed by MySQL 8, kept by MariaDB.
    Group { mysql: 0, mysql_end: 80_000, mariadb: 0, names: &[
        "AREA", "ASBINARY", "ASTEXT", "ASWKB", "ASWKT", "BUFFER", "CENTROID", "CONTAINS", "CROSSES",
        "DECODE", "DES_DECRYPT", "DES_ENCRYPT", "DIMENSION", "DISJOINT", "ENCODE", "ENCRYPT",
        "ENDPOINT", "ENVELOPE", "EQUALS", "EXTERIORRING", "GEOMCOLLFROMTEXT", "GEOMCOLLFROMWKB",
        "GEOMETRYCOLLECTIONFROMTEXT", "GEOMETRYCOLLECTIONFROMWKB", "GEOMETRYFROMTEXT",
        "GEOMETRYFROMWKB", "GEOMETRYN", "GEOMETRYTYPE", "GEOMFROMTEXT", "GEOMFROMWKB", "GLENGTH",
        "INTERIORRINGN", "INTERSECTS", "ISCLOSED", "ISEMPTY", "ISSIMPLE", "LINEFROMTEXT",
        "LINEFROMWKB", "LINESTRINGFROMTEXT", "LINESTRINGFROMWKB", "MBREQUAL", "MLINEFROMTEXT",
        "MLINEFROMWKB", "MPOINTFROMTEXT", "MPOINTFROMWKB", "MPOLYFROMTEXT", "MPOLYFROMWKB",
        "MULTILINESTRINGFROMTEXT", "MULTILINESTRINGFROMWKB", "MULTIPOINTFROMTEXT",
        "MULTIPOINTFROMWKB", "MULTIPOLYGONFROMTEXT", "MULTIPOLYGONFROMWKB", "NUMGEOMETRIES",
        "NUMINTERIORRINGS", "NUMPOINTS", "OLD_PASSWORD", "OVERLAPS", "PASSWORD", "POINTFROMTEXT",
        "POINTFROMWKB", "POINTN", "POLYFROMTEXT", "POLYFROMWKB", "POLYGONFROMTEXT",
        "POLYGONFROMWKB", "SRID", "STARTPOINT", "TOUCHES", "WITHIN", "X", "Y",
    ] },
    // MariaDB alone.
    Group { mysql: NEVER, mysql_end: NEVER, mariadb: 100_303, names: &[
        "ADD_MONTHS", "CHR", "COLUMN_ADD", "COLUMN_CHECK", "COLUMN_CREATE", "COLUMN_DELETE",
        "COLUMN_EXISTS", "COLUMN_GET", "COLUMN_JSON", "COLUMN_LIST", "CRC32C", "DECODE_HISTOGRAM",
        "JSON_COMPACT", "JSON_DETAILED", "JSON_EXISTS", "JSON_LOOSE", "LENGTHB", "MEDIAN", "NVL",
        "NVL2", "PERCENTILE_CONT", "PERCENTILE_DISC", "ST_BOUNDARY", "ST_ISRING",
        "ST_POINTONSURFACE", "ST_RELATE", "VALUE",
    ] },
    // MariaDB since 10.10 at the latest.
    Group { mysql: NEVER, mysql_end: NEVER, mariadb: 101_001, names: &[
        "JSON_EQUALS", "JSON_NORMALIZE", "NATURAL_SORT_KEY", "ROWNUM", "SFORMAT", "SYS_GUID",
        "TO_CHAR",
    ] },
    // MariaDB since 11.7 at the latest.
    Group { mysql: NEVER, mysql_end: NEVER, mariadb: 110_701, names: &[
        "JSON_ARRAY_INTERSECT", "JSON_KEY_VALUE", "JSON_OBJECT_FILTER_KEYS", "JSON_OBJECT_TO_ARRAY",
        "KDF", "UUID_V4", "UUID_V7", "VEC_DISTANCE", "VEC_DISTANCE_COSINE",
        "VEC_DISTANCE_EUCLIDEAN", "VEC_FROMTEXT", "VEC_TOTEXT",
    ] },
];

#[cfg(test)]
pub(super) fn every_name() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|group| group.names).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_is_sorted_and_no_name_stands_twice() {
        assert!(GROUPS.iter().all(|group| group.names.is_sorted_by(|one, other| one < other)));
        let mut names: Vec<_> = every_name().collect();
        names.sort_unstable();
        assert_eq!(names.windows(2).find(|pair| pair[0] == pair[1]), None);
    }
}
