#include "attnscope/checkpoint/pytorch/pickle_allowlist.h"

#include <string>

namespace attnscope {
namespace {

/// Modules of the standard library. A pickle that names any of their globals outside the allow-list
/// below is rejected as malicious. Source: CPython 3.11, sys.stdlib_module_names, and the modules
/// of Python 2 and 3.14.
constexpr std::string_view kPythonModules =
    " StringIO __builtin__ __builtins__ __future__ _abc _aix_support _ast "  // words: ok
    "_asyncio _bisect "
    "_blake2 _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 "
    "_codecs_jp _codecs_kr _codecs_tw _collections _collections_abc _compat_pickle "
    "_compression _contextvars _crypt _csv _ctypes _curses _curses_panel _datetime _dbm "
    "_decimal _elementtree _frozen_importlib _frozen_importlib_external _functools _gdbm "
    "_hashlib _heapq _imp _io _json _locale _lsprof _lzma _markupbase _md5 _msi "
    "_multibytecodec _multiprocessing _opcode _operator _os _osx_support _overlapped "
    "_pickle _posixshmem _posixsubprocess _py_abc _pydecimal _pyio _queue _random "
    "_scproxy _sha1 _sha256 _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3 _sre "
    "_ssl _stat _statistics _string _strptime _struct _symtable _thread _threading_local "
    "_tkinter _tokenize _tracemalloc _typing _uuid _warnings _weakref _weakrefset _winapi "
    "_zoneinfo abc aifc annotationlib antigravity argparse array ast asynchat asyncio "
    "asyncore atexit audioop base64 bdb binascii bisect builtins bz2 cPickle cProfile "
    "cStringIO calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys "
    "commands compileall compression concurrent configparser contextlib contextvars copy "
    "copy_reg copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib "
    "dis distutils doctest email encodings ensurepip enum errno exceptions faulthandler "
    "fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt "
    "getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib "
    "imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache "
    "locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib "
    "msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode "
    "operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil "
    "platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile "
    "pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource "
    "rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site "
    "smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants "
    "sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys "
    "sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this thread "
    "threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty "
    "turtle turtledemo types typing unicodedata unittest urllib urllib2 uu uuid venv "
    "warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp "
    "zipfile zipimport zlib zoneinfo ";

/// Modules of torch that create tensors. Skipping an unknown global of these would silently lose
/// weights.
constexpr std::string_view kTorchModules =
    " torch torch._tensor torch._utils torch.jit torch.serialization torch.storage ";

/// The globals of these modules that checkpoints contain.
struct Listed {
  std::string_view module;
  std::string_view names;
};
constexpr Listed kListed[] = {
    {"__builtin__",
     " bool bytearray bytes complex dict float frozenset int list long object set "
     "slice str tuple unicode xrange "},
    {"_codecs", " encode "},
    {"argparse", " Namespace "},
    {"builtins",
     " bool bytearray bytes complex dict float frozenset int list object range set "
     "slice str tuple "},
    {"collections", " Counter OrderedDict UserDict defaultdict deque "},
    {"copy_reg", " _reconstructor "},
    {"copyreg", " _reconstructor "},
    {"datetime", " date datetime time timedelta timezone "},
    {"decimal", " Decimal "},
    {"fractions", " Fraction "},
    {"functools", " partial "},
    {"pathlib", " Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath "},
    {"pathlib._local", " Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath "},
    {"random", " Random "},
    {"re", " _compile "},
    {"torch",
     " BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage "  // words: ok
     "ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage "
     "QInt32Storage QInt8Storage QUInt8Storage ShortStorage Size Tensor bfloat16 bool "
     "complex128 complex32 complex64 device double float float16 float32 "
     "float4_e2m1fn_x2 float64 float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
     "float8_e5m2fnuz float8_e8m0fnu half int int16 int32 int64 int8 long "
     "per_channel_affine per_tensor_affine qint32 qint8 quint8 short uint16 uint32 "
     "uint64 uint8 "},
    {"torch._tensor", " _rebuild_from_type_v2 "},
    {"torch._utils",
     " _rebuild_meta_tensor_no_storage _rebuild_parameter "
     "_rebuild_parameter_with_state _rebuild_qtensor _rebuild_sparse_tensor "
     "_rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3 "},
    {"torch.serialization", " _get_layout "},
    {"torch.storage", " UntypedStorage "},
    {"types", " SimpleNamespace "},
    {"uuid", " SafeUUID UUID "},
    {"zoneinfo", " ZoneInfo._unpickle "},
};

bool contains_word(std::string_view words, std::string_view word) {
  return word.find(' ') == std::string_view::npos &&
         words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

}  // namespace

bool may_be_named(std::string_view module, std::string_view name) {
  for (const Listed& listed : kListed) {
    if (listed.module == module) return contains_word(listed.names, name);
  }
  const std::string_view package = module.substr(0, module.find('.'));
  return !contains_word(kPythonModules, package) && !contains_word(kTorchModules, module);
}

}  // namespace attnscope
