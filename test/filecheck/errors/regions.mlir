// RUN: tapeflow-opt %s --verify-diagnostics -p "tape-form-regions{layout=interleaved}" | filecheck %s

func.func @f() {
  func.return
}

// CHECK:      error: tape-form-regions has no layout 'interleaved'
// CHECK-NEXT:   help: use layout=aos or layout=soa
