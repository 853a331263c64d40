// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamespacesAreToldApartWhileTheyAreFew(t *testing.T) {
	some := Namespaces{}.With(InNamespaces("b")).With(InNamespaces("a", "b"))
	if diff := cmp.Diff([]string{"a", "b"}, some.Names()); diff != "" || some.All() {
		t.Errorf("all %v (-want +got):\n%s", some.All(), diff)
	}
	if !some.With(AllNamespaces()).All() || !AllNamespaces().With(some).All() {
		t.Error("with all namespaces they aren't all")
	}
	if got := some.Names(); len(got) != 2 {
		t.Errorf("what they were joined to has changed them: %v", got)
	}
	many := Namespaces{}
	for i := range MostNamespaces {
		many = many.With(InNamespaces(fmt.Sprint(i)))
	}
	if many.All() || len(many.Names()) != MostNamespaces {
		t.Errorf("as many as are told apart: all %v, %d names", many.All(), len(many.Names()))
	}
	if many = many.With(InNamespaces("one more")); !many.All() || len(many.Names()) > 0 {
		t.Errorf("more than are told apart: all %v, %d names", many.All(), len(many.Names()))
	}
}
