// stepscope._capture: steps, phases, waits and numbers of a program in Python, as
// tracer/api/annotate.h marks them. Written to Python's own interface: where nothing records, a
// range may cost no more than what Python needs to call it. Only the part of the interface that
// stays the same is used (Py_LIMITED_API): one file serves every Python from 3.10 on.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <cstring>
#include <limits>
#include <utility>

#include "tracer/api/annotate.h"
#include "tracer/api/capture.h"

namespace {

using stepscope::api::AnnotationCategory;

/// A range that begins at __enter__ and ends at __exit__. It may be entered again, and as a
/// decorator it is.
struct Scope {
  PyObject_HEAD AnnotationCategory category;
  bool has_payload;
  int64_t payload;
  PyObject* name;  ///< a str; null: `literal`
  char const* literal;
};

PyTypeObject* scope_type = nullptr;
PyObject* decorate = nullptr;  ///< stepscope.capture._decorate

/// Lives as long as `text`. Null, with Python's error, where it has no UTF-8.
char const* utf8_of(PyObject* text) { return PyUnicode_AsUTF8AndSize(text, nullptr); }

char const* text_of(Scope const* scope) {
  return scope->name == nullptr ? scope->literal : utf8_of(scope->name);
}

PyObject* enter(PyObject* self, PyObject* /*unused*/) {
  auto const* const scope = reinterpret_cast<Scope*>(self);
  char const* const text = text_of(scope);
  if (text == nullptr) return nullptr;

  nvtxEventAttributes_t attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.category = static_cast<uint32_t>(scope->category);
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  if (scope->has_payload) {
    attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    attributes.payload.llValue = scope->payload;
  }
  nvtxDomainRangePushEx(stepscope::api::annotation_domain(), &attributes);
  Py_INCREF(self);
  return self;
}

PyObject* exit(PyObject* /*self*/, PyObject* const* /*arguments*/, Py_ssize_t /*count*/) {
  nvtxDomainRangePop(stepscope::api::annotation_domain());
  Py_RETURN_NONE;
}

/// As a decorator.
PyObject* call(PyObject* self, PyObject* arguments, PyObject* /*names*/) {
  PyObject* function = nullptr;
  if (PyArg_ParseTuple(arguments, "O:__call__", &function) == 0) return nullptr;
  return PyObject_CallFunctionObjArgs(decorate, self, function, nullptr);
}

void destroy(PyObject* self) {
  Py_XDECREF(reinterpret_cast<Scope*>(self)->name);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* new_scope(AnnotationCategory category, PyObject* name, char const* literal,
                    int64_t const* payload) {
  auto* const scope = PyObject_New(Scope, scope_type);
  if (scope == nullptr) return nullptr;

  scope->category = category;
  scope->has_payload = payload != nullptr;
  scope->payload = payload != nullptr ? *payload : 0;
  Py_XINCREF(name);
  scope->name = name;
  scope->literal = literal;
  return reinterpret_cast<PyObject*>(scope);
}

/// The only argument, a text that UTF-8 can say.
bool is_name(PyObject* argument, char const* of) {
  if (PyUnicode_Check(argument) == 0) {
    PyObject* const type =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(argument)), "__name__");
    if (type == nullptr) return false;
    PyErr_Format(PyExc_TypeError, "stepscope.%s: the name is a str, not %S", of, type);
    Py_DECREF(type);
    return false;
  }
  return utf8_of(argument) != nullptr;
}

PyObject* step(PyObject* /*module*/, PyObject* index) {
  int64_t const value = PyLong_AsLongLong(index);
  if (value == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (value < 0) {
    PyErr_SetString(PyExc_ValueError, "stepscope.step: steps are counted from 0");
    return nullptr;
  }
  return new_scope(AnnotationCategory::kStep, nullptr, "step", &value);
}

PyObject* phase(PyObject* /*module*/, PyObject* name) {
  return is_name(name, "phase") ? new_scope(AnnotationCategory::kPhase, name, nullptr, nullptr)
                                : nullptr;
}

PyObject* work(PyObject* /*module*/, PyObject* name) {
  return is_name(name, "work") ? new_scope(AnnotationCategory::kNone, name, nullptr, nullptr)
                               : nullptr;
}

PyObject* input_wait(PyObject* /*module*/, PyObject* name) {
  return is_name(name, "input_wait")
             ? new_scope(AnnotationCategory::kInputWait, name, nullptr, nullptr)
             : nullptr;
}

PyObject* memory_category(PyObject* /*module*/, PyObject* name) {
  return is_name(name, "memory_category")
             ? new_scope(AnnotationCategory::kMemory, name, nullptr, nullptr)
             : nullptr;
}

/// False, and Python's error, where it is no number.
bool note_real(char const* name, PyObject* number) {
  double const value = PyFloat_AsDouble(number);
  if (value == -1 && PyErr_Occurred() != nullptr) return false;
  stepscope::api::note(name, value);
  return true;
}

/// Integers that 64 bits hold, with a sign or without, are kept exactly; numpy's, too.
bool note_integer(char const* name, PyObject* number) {
  PyObject* const integer = PyNumber_Index(number);
  if (integer == nullptr) {
    PyErr_Clear();  // such as an array with one real element
    return note_real(name, number);
  }

  int overflow = 0;
  int64_t const value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  bool is_good = true;
  if (overflow == 0) {
    stepscope::api::note(name, value);
  } else {
    uint64_t const large = PyLong_AsUnsignedLongLong(integer);
    bool const fits = PyErr_Occurred() == nullptr;
    PyErr_Clear();
    if (fits)
      stepscope::api::note(name, large);
    else
      is_good = note_real(name, integer);
  }
  Py_DECREF(integer);
  return is_good;
}

PyObject* note(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "stepscope.note: give a name and a number");
    return nullptr;
  }
  if (!is_name(arguments[0], "note")) return nullptr;
  char const* const name = utf8_of(arguments[0]);

  bool const is_integer = PyFloat_Check(arguments[1]) == 0 && PyIndex_Check(arguments[1]) != 0;
  if (is_integer ? note_integer(name, arguments[1]) : note_real(name, arguments[1])) Py_RETURN_NONE;
  return nullptr;
}

PyObject* name_thread(PyObject* /*module*/, PyObject* name) {
  if (!is_name(name, "name_thread")) return nullptr;
  stepscope::api::name_this_thread(utf8_of(name));
  Py_RETURN_NONE;
}

/// A range that need not nest, and may end on another thread: its id.
PyObject* start_range(PyObject* /*module*/, PyObject* name) {
  if (!is_name(name, "start_range")) return nullptr;
  nvtxEventAttributes_t attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = utf8_of(name);
  return PyLong_FromUnsignedLongLong(
      nvtxDomainRangeStartEx(stepscope::api::annotation_domain(), &attributes));
}

PyObject* end_range(PyObject* /*module*/, PyObject* id) {
  unsigned long long const range = PyLong_AsUnsignedLongLong(id);
  if (PyErr_Occurred() != nullptr) return nullptr;
  nvtxDomainRangeEnd(stepscope::api::annotation_domain(), range);
  Py_RETURN_NONE;
}

/// The calls that wait for a file leave Python's lock to other threads.
template <class Call>
PyObject* without_lock(Call const& call) {
  bool result = false;
  Py_BEGIN_ALLOW_THREADS;
  result = call();
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(result ? 1 : 0);
}

PyObject* start_window(PyObject* /*module*/, PyObject* folder) {
  PyObject* bytes = nullptr;
  if (folder != Py_None && PyUnicode_FSConverter(folder, &bytes) == 0) return nullptr;
  char const* const path = bytes == nullptr ? nullptr : PyBytes_AsString(bytes);
  PyObject* const result = without_lock([&] { return stepscope::api::start_window(path); });
  Py_XDECREF(bytes);
  return result;
}

PyObject* stop_window(PyObject* /*module*/, PyObject* /*unused*/) {
  return without_lock([] { return stepscope::api::stop_window(); });
}

PyObject* capture_error(PyObject* /*module*/, PyObject* /*unused*/) {
  return PyUnicode_DecodeUTF8(stepscope::api::capture_error(),
                              static_cast<Py_ssize_t>(std::strlen(stepscope::api::capture_error())),
                              "replace");
}

PyObject* set_decorate(PyObject* /*module*/, PyObject* function) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "stepscope: works in the main interpreter alone");
    return nullptr;
  }
  Py_INCREF(function);
  PyObject* const before = std::exchange(decorate, function);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

template <class Function>
PyCFunction as_function(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef scope_methods[] = {{"__enter__", enter, METH_NOARGS, nullptr},
                               {"__exit__", as_function(exit), METH_FASTCALL, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyType_Slot scope_slots[] = {{Py_tp_methods, scope_methods},
                             {Py_tp_call, reinterpret_cast<void*>(call)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                             {0, nullptr}};
PyType_Spec scope_spec = {"stepscope._capture.Scope", sizeof(Scope), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, scope_slots};

PyMethodDef functions[] = {
    {"step", step, METH_O,
     "step($module, index, /)\n--\n\n`with stepscope.step(i):` is the training step i, counted "
     "from 0 over the whole job."},
    {"phase", phase, METH_O,
     "phase($module, name, /)\n--\n\nA part of a step: \"forward\", \"backward\", \"optimizer\". "
     "With `with`, or as a decorator."},
    {"work", work, METH_O,
     "work($module, name, /)\n--\n\nAnything else worth seeing on the thread's track. With `with`, "
     "or as a decorator."},
    {"input_wait", input_wait, METH_O,
     "input_wait($module, name, /)\n--\n\nThe thread waits for training data inside of it."},
    {"memory_category", memory_category, METH_O,
     "memory_category($module, name, /)\n--\n\nDevice memory allocated inside is for it: "
     "\"weights\", \"gradients\", \"optimizer\", \"activations\",\n\"workspace\", \"input\" or "
     "\"other\"."},
    {"note", as_function(note), METH_FASTCALL,
     "note($module, name, value, /)\n--\n\nA number at this moment, a point of the curve `name`. "
     "Integers stay exact."},
    {"name_thread", name_thread, METH_O,
     "name_thread($module, name, /)\n--\n\nThe calling thread's name in traces."},
    {"start_range", start_range, METH_O, nullptr},
    {"end_range", end_range, METH_O, nullptr},
    {"start_window", start_window, METH_O, nullptr},
    {"stop_window", stop_window, METH_NOARGS, nullptr},
    {"capture_error", capture_error, METH_NOARGS, nullptr},
    {"_set_decorate", set_decorate, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_capture", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__capture() {
  PyObject* const module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  scope_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&scope_spec));
  if (scope_type == nullptr ||
      PyModule_AddStringConstant(module, "version", STEPSCOPE_VERSION) != 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
