// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"os"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

// referring is a policy on ConfigMaps that looks ConfigMaps up, with the Rego of its rules.
func referring(name, rules string) string {
	return `apiVersion: evenkeel.dev/v1alpha1
kind: ClusterRegoPolicy
metadata: {name: ` + name + `}
spec:
  title: a
  owner: a
  runbookURL: https://example.com
  match:
    kinds: [{apiGroups: [""], kinds: [ConfigMap]}]
    references: [{apiGroup: "", kind: ConfigMap}]
  admission: {action: Deny}
  remediation: {mode: Manual}
  rego:
    main: |
      package a
      import rego.v1
` + "      " + strings.ReplaceAll(rules, "\n", "\n      ") + "\n"
}

func configMap(name, port string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {port: \"" + port + "\"}\n"
}

const (
	// onePortEach wants ports that no other ConfigMap has, and gives the smallest that is free.
	onePortEach = `taken contains o.data.port if {
	some ns, n
	o := data.inventory.namespace[ns].v1.ConfigMap[n]
	[ns, n] != [input.object.metadata.namespace, input.object.metadata.name]
}
deny contains "the port is taken" if input.object.data.port in taken
free := [p | some i in numbers.range(1, 20); p := sprintf("%d", [i]); not p in taken][0]
remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/data/port", "value": free}]} if {
	input.object.data.port in taken
}`
	// noOne wants no port 1, and gives 2.
	noOne = `deny contains "the port is 1" if input.object.data.port == "1"
remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/data/port", "value": "2"}]} if {
	input.object.data.port == "1"
}`
	// aDislikes finds fault with a where b has port 2.
	aDislikes = `deny contains "b has port 2" if {
	input.object.metadata.name == "a"
	data.inventory.namespace[_].v1.ConfigMap.b.data.port == "2"
}`
)

// TestFixAndCheckAgreeOnWhatIsLookedUp has the fix of one object change what the rules find of others.
func TestFixAndCheckAgreeOnWhatIsLookedUp(t *testing.T) {
	tests := map[string]struct {
		reason, policies string
		files            map[string]string
		want             []string
		says             string
		code             int
	}{
		"ports that must differ": {"each fix sees those before it, in other files too",
			referring("ports", onePortEach),
			map[string]string{"m/1.yaml": configMap("a", "1") + configMap("b", "1"), "m/2.yaml": configMap("c", "1")},
			[]string{`"2"`, `"3"`, `"1"`}, "2 fixed in 1 file, 0 left", 0},
		"a violation that another's fix brings": {"it is told as left",
			referring("one", noOne) + "---\n" + referring("dislikes", aDislikes),
			map[string]string{"m/1.yaml": configMap("a", "7") + configMap("b", "1")}, []string{`"7"`, `"2"`},
			"m/1.yaml:2 dislikes: b has port 2 (it came with the fix of another object: run fix again)",
			command.ExitFailed},
		"a violation that another's fix heals": {"it isn't left",
			referring("one", noOne) + "---\n" + strings.Replace(referring("likes", aDislikes), `== "2"`, `== "1"`, 1),
			map[string]string{"m/1.yaml": configMap("a", "7") + configMap("b", "1")}, []string{`"7"`, `"2"`},
			"1 fixed in 1 file, 0 left", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir("m", 0o700); err != nil {
				t.Fatal(err)
			}
			tc.files["p.yaml"] = tc.policies
			for file, text := range tc.files {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, message, code := commandline.Invoke(t, newFixCommand(), "-p", "p.yaml", "m")
			if code != tc.code || !strings.Contains(out, tc.says) {
				t.Errorf("%s: fix ends with %d (%s):\n%s", tc.reason, code, message, out)
			}
			var text string
			for _, file := range []string{"m/1.yaml", "m/2.yaml"} {
				one, _ := os.ReadFile(file)
				text += string(one)
			}
			if got := strings.Join(ports(text), " "); got != strings.Join(tc.want, " ") {
				t.Errorf("%s: ports %s, want %s", tc.reason, got, tc.want)
			}
			if out, message, code := commandline.Invoke(t, newCheckCommand(), "-p", "p.yaml", "m"); code != tc.code {
				t.Errorf("%s: check ends with %d (%s), fix with %d:\n%s", tc.reason, code, message, tc.code, out)
			}
		})
	}
}

// TestKindsWhoseScopeNobodyTells looks custom kinds up whose CustomResourceDefinition isn't given: where rules take them
// for cluster-scoped they are, and where they take them for namespaced ones they are that.
func TestKindsWhoseScopeNobodyTells(t *testing.T) {
	const emailOnce = `deny contains "the email is taken" if {
	some n
	o := data.inventory.PLACE["cert-manager.io/v1"].ClusterIssuer[n]
	n != input.object.metadata.name
	o.spec.email == input.object.spec.email
}
remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/spec/email", "value": name}]} if {
	name := input.object.metadata.name
}`
	issuer := func(name string) string {
		return "---\napiVersion: cert-manager.io/v1\nkind: ClusterIssuer\nmetadata: {name: " + name +
			"}\nspec: {email: x}\n"
	}
	crd := func(scope string) string {
		return "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
			"metadata: {name: clusterissuers.cert-manager.io}\n" +
			"spec: {group: cert-manager.io, scope: " + scope + ", names: {kind: ClusterIssuer}}\n"
	}
	const found = command.ExitFailed
	two, another := issuer("a")+issuer("b"), strings.Replace(issuer("c"), "name: c", "name: c, namespace: shop", 1)
	for name, tc := range map[string]struct {
		place, manifests string
		code             int
	}{
		"in the cluster":                    {"cluster", two, found},
		"in namespaces":                     {"namespace[_]", two, found},
		"in the cluster, as it is":          {"cluster", crd("Cluster") + two, found},
		"in namespaces, and it isn't":       {"namespace[_]", crd("Cluster") + two, 0},
		"in the cluster, and it isn't":      {"cluster", crd("Namespaced") + two, 0},
		"in namespaces, as another is":      {"namespace[_]", issuer("a") + another, found},
		"in the cluster, as another is not": {"cluster", issuer("a") + another, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			policies := strings.NewReplacer(`apiGroups: [""], kinds: [ConfigMap]`,
				"apiGroups: [cert-manager.io], kinds: [ClusterIssuer]", `apiGroup: "", kind: ConfigMap`,
				"apiGroup: cert-manager.io, kind: ClusterIssuer").Replace(
				referring("emails", strings.Replace(emailOnce, "PLACE", tc.place, 1)))
			for file, text := range map[string]string{"p.yaml": policies, "m.yaml": tc.manifests} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, message, code := commandline.Invoke(t, newCheckCommand(), "-p", "p.yaml", "m.yaml")
			if code != tc.code {
				t.Errorf("check ends with %d (%s), want %d:\n%s", code, message, tc.code, out)
			}
			out, message, code = commandline.Invoke(t, newFixCommand(), "-p", "p.yaml", "m.yaml")
			if fixes := strings.Contains(out, "1 fixed in 1 file, 0 left"); code != 0 || fixes != (tc.code != 0) {
				t.Errorf("fix ends with %d (%s):\n%s", code, message, out)
			}
			if _, message, code := commandline.Invoke(t, newCheckCommand(), "-p", "p.yaml", "m.yaml"); code != 0 {
				t.Errorf("check ends with %d (%s) after fix", code, message)
			}
		})
	}
}

// ports are those of ConfigMaps, in quotes, in their order.
func ports(text string) (ports []string) {
	for _, rest := range strings.Split(text, "port: ")[1:] {
		port, _, _ := strings.Cut(rest, "}")
		ports = append(ports, port)
	}
	return ports
}
