// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/action"
)

func TestProposal(t *testing.T) {
	pod := func(image string, labels obj) obj {
		return obj{"apiVersion": "v1", "kind": "Pod", "status": obj{"phase": image},
			"metadata": obj{"name": "web", "labels": labels, "uid": image, "resourceVersion": image,
				"managedFields": []any{image}},
			"spec": obj{"containers": []any{container("log", "log:1"), container("web", image)}}}
	}
	key := func(value string) string { return base64.StdEncoding.EncodeToString([]byte(value)) }
	secret := func(value string, labels obj) obj {
		return obj{"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
			"metadata": obj{"name": "db", "labels": labels}, "data": obj{"password": key(value)}}
	}
	for name, tc := range map[string]struct {
		reason        string
		before, after obj
		limit         int
		want          string
	}{
		"a change is shown with what is around it": {
			reason: "or one wouldn't know which container it is", before: pod("web:1", obj{"app": "web"}),
			after: pod("web:2", obj{"app": "web", "team": "shop"}), limit: 4096,
			want: `# /metadata/labels/team
# /spec/containers/1/image
--- Pod web as it is
+++ Pod web as the policy wants it
@@ -1,12 +1,13 @@
 apiVersion: v1
 kind: Pod
 metadata:
   labels:
     app: web
+    team: shop
   name: web
 spec:
   containers:
   - image: log:1
     name: log
-  - image: web:1
+  - image: web:2
     name: web
`,
		},
		"no change is no proposal": {reason: "there is nothing to do", before: pod("web:1", nil),
			after: pod("web:1", nil), limit: 4096},
		"what the server keeps is no change": {reason: "nobody can write it", limit: 4096,
			before: obj{"kind": "X", "status": obj{"a": "1"}}, after: obj{"kind": "X", "status": obj{"a": "2"}}},
		"a Secret's values aren't told": {
			reason: "which of them changes is", before: secret("hunter2-was-it", nil),
			after: secret("hunter3-is-it", obj{"copy": "hunter2-was-it"}), limit: 4096,
			want: `# /data/password
# /metadata/labels/copy
--- Pod web as it is
+++ Pod web as the policy wants it
@@ -1,8 +1,9 @@
 apiVersion: v1
 data:
-  password: '[censored]'
+  password: '[censored, as the fix sets it]'
 kind: Secret
 metadata:
-  labels: {}
+  labels:
+    copy: '[censored]'
   name: db
 type: Opaque
`,
		},
		"a long one is cut at the end of a line": {
			reason: "the record is bounded", before: pod("web:1", nil), after: pod("web:2", nil), limit: 110,
			want: "# /spec/containers/1/image\n--- Pod web as it is\n… cut here: 10 more lines\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := action.Proposal("Pod web", tc.before, tc.after, tc.limit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(got) > tc.limit {
				t.Errorf("%d bytes, the limit is %d", len(got), tc.limit)
			}
		})
	}
}

func TestProposalNeverExceedsItsLimit(t *testing.T) {
	before, after := obj{"kind": "X"}, obj{"kind": "X"}
	for i := range 2000 {
		after[fmt.Sprintf("field-%04d", i)] = strings.Repeat("ü", i%50)
	}
	for limit := 100; limit < 5000; limit += 613 {
		got, err := action.Proposal("X", before, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > limit || !strings.HasSuffix(got, " more lines\n") ||
			!strings.Contains(got, "# and 1992 more\n") && limit > 300 {
			t.Errorf("limit %d: %d bytes, ending in %q", limit, len(got), got[max(0, len(got)-60):])
		}
	}
	if _, err := action.Proposal("X", obj{"kind": "X"}, obj{"kind": "X", "f": func() {}}, 4096); err == nil {
		t.Error("a value that isn't YAML must be an error")
	}
}
