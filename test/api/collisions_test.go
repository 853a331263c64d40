// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// taken says whose a name is.
type taken struct{ project, group, as string }

// accepted are names of ours that another project has too: short names of its
// ComplianceRemediation, and kubectl takes a full name before a short name.
var accepted = map[string]string{"remediations": "Compliance operator", "remediation": "Compliance operator"}

// TestNamesCollideWithNobodys holds every kind, plural, singular and short name of ours
// against those of what else is in clusters: `kubectl get NAME` answers with whichever
// comes first, and nothing tells the reader that there was another.
func TestNamesCollideWithNobodys(t *testing.T) {
	others := othersNames(t)
	ours := 0
	owner := map[string]string{}
	for _, kind := range definitions(t) {
		names := kind.Spec.Names
		for _, name := range append([]string{strings.ToLower(names.Kind), names.Plural, names.Singular},
			names.ShortNames...) {
			ours++
			if kind := owner[name]; kind != "" && kind != names.Kind {
				t.Errorf("%q names %s and %s", name, kind, names.Kind)
			}
			owner[name] = names.Kind
			for _, other := range others[name] {
				if accepted[name] != other.project {
					t.Errorf("%q of %s is %s of %s (%s) too: choose another", name, names.Kind, other.as, other.project,
						other.group)
				}
			}
		}
	}
	for name := range accepted {
		if len(others[name]) == 0 || owner[name] == "" {
			t.Errorf("%q is accepted though it collides with nothing", name)
		}
	}
	if ours < 25 || len(others) < 900 {
		t.Fatalf("compared %d names of ours with %d: is everything read?", ours, len(others))
	}
}

// othersNames reads testdata/names.txt, by name.
func othersNames(t *testing.T) map[string][]taken {
	t.Helper()
	file, err := os.Open("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	names, project := map[string][]taken{}, ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if after, ok := strings.CutPrefix(line, "## "); ok {
			project = after
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 4 || project == "" {
			t.Fatalf("testdata/names.txt: %q isn't kind, plural, short names, group of a project", line)
		}
		add := func(as string, all ...string) {
			for _, name := range all {
				if !slices.Contains([]string{"", "-"}, name) {
					names[name] = append(names[name], taken{project: project, group: fields[3], as: as})
				}
			}
		}
		guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: fields[0]})
		add("a plural", fields[1], guess.Resource)
		add("a short name", strings.Split(fields[2], ",")...)
		add("the kind "+fields[0], strings.ToLower(fields[0]))
	}
	return names
}
