// SPDX-License-Identifier: Apache-2.0

package authors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestRead(t *testing.T) {
	type keys = map[string]string
	cases := map[string]struct {
		reason              string
		annotations, labels keys
		generation          int64
		want                Record
	}{
		"what admission has recorded is believed": {
			annotations: keys{v1alpha1.AnnotationAuthors: `{"users":["ann","bob"],"generation":3}`}, generation: 3,
			want: Record{Users: []string{"ann", "bob"}, Generation: 3}},
		"a spec that is newer than the record has an author who isn't named": {
			reason:      "the change got past admission",
			annotations: keys{v1alpha1.AnnotationAuthors: `{"users":["ann"],"generation":3}`}, generation: 4,
			want: Record{Users: []string{"ann"}, Generation: 4, More: true}},
		"a record that can't be read names nobody": {
			annotations: keys{v1alpha1.AnnotationAuthors: `ann`}, generation: 3,
			want: Record{Users: []string{}, Generation: 3, More: true}},
		"a record of nobody isn't one": {
			annotations: keys{v1alpha1.AnnotationAuthors: `{"users":[],"generation":3}`}, generation: 3,
			want: Record{Users: []string{}, Generation: 3, More: true}},
		"an empty record isn't one": {
			annotations: keys{v1alpha1.AnnotationAuthors: ``, v1alpha1.AnnotationAuthor: "ann"}, generation: 3,
			want: Record{Users: []string{}, Generation: 3, More: true}},
		"the last author alone is believed where nothing else is recorded": {
			reason:      "an earlier version kept no more",
			annotations: keys{v1alpha1.AnnotationAuthor: "ann"}, generation: 3,
			want: Record{Users: []string{"ann"}, Generation: 3}},
		"without any record the author could be anybody": {
			generation: 3, want: Record{Users: []string{}, Generation: 3, More: true}},
		"what bears the label of a source comes from one": {
			annotations: keys{v1alpha1.AnnotationAuthors: `{"users":["manager"],"generation":1}`},
			labels:      keys{v1alpha1.LabelSourceName: "src"}, generation: 1,
			want: Record{Users: []string{"manager"}, Generation: 1, Source: true}},
		"what has borne it does too": {
			reason:      "a deleted source leaves its policies without labels",
			annotations: keys{v1alpha1.AnnotationAuthors: `{"users":["manager"],"generation":1,"source":true}`},
			generation:  1,
			want:        Record{Users: []string{"manager"}, Generation: 1, Source: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Read(tc.annotations, tc.labels, tc.generation)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestARecordThatIsFullSaysSo(t *testing.T) {
	r := Record{}
	for i := range MaxUsers {
		if r = r.Changed(fmt.Sprint("user", i), int64(i)); r.More {
			t.Fatalf("full after %d users", i)
		}
	}
	if r = r.Changed("user3", 40); r.More {
		t.Error("a user who is named already takes no room")
	}
	if r = r.Changed("ann", 41); !r.More || r.Wrote("ann") || len(r.Users) != MaxUsers {
		t.Errorf("one user too many is forgotten: %s", r)
	}
	if r := (Record{}).Changed(strings.Repeat("n", maxUser+1), 1); !r.More || len(r.Users) != 0 {
		t.Errorf("a name that no answer can hold is recorded: %s", r)
	}
}

// Whoever has changed a spec is named for ever, or the record says that it isn't
// complete.
func TestNobodyIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		annotations, generation := map[string]string{}, int64(0)
		r := Record{}
		var wrote []string
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			user := fmt.Sprint("user", rapid.IntRange(0, 40).Draw(t, "user"))
			generation++
			r = r.Changed(user, generation)
			wrote = append(wrote, user)
			annotations[v1alpha1.AnnotationAuthors] = r.String()
			read := Read(annotations, nil, generation)
			if diff := cmp.Diff(r, read); diff != "" {
				t.Fatalf("a record isn't read as it was written (-want +got)\n%s", diff)
			}
			for _, user := range wrote {
				if !read.More && !read.Wrote(user) {
					t.Fatalf("%s has written it, and isn't named: %s", user, read)
				}
			}
			if after := Read(annotations, nil, generation+1); !after.More {
				t.Fatalf("a change past admission isn't seen: %s", after)
			}
		}
	})
}

// TestADeletionIsNoChange has the API server count the generation up as it marks an object as
// being deleted, which a finalizer keeps.
func TestADeletionIsNoChange(t *testing.T) {
	const ann = `{"users":["ann"],"generation":3}`
	for name, tc := range map[string]struct {
		record     string
		generation int64
		want       Record
	}{
		"its authors are still known": {ann, 4, Record{Users: []string{"ann"}, Generation: 3}},
		"a change past admission while deleting": {
			ann, 5, Record{Users: []string{"ann"}, Generation: 4, More: true}},
		"a recorded change while deleting": {
			`{"users":["ann","bob"],"generation":4}`, 5, Record{Users: []string{"ann", "bob"}, Generation: 4}},
		"one past admission after a recorded one": {
			`{"users":["ann","bob"],"generation":4}`, 6,
			Record{Users: []string{"ann", "bob"}, Generation: 5, More: true}},
		"one past admission before it was deleted": {
			`{"users":["ann"],"generation":2}`, 4, Record{Users: []string{"ann"}, Generation: 3, More: true}},
		"a record that is ahead of what there is yet": {
			`{"users":["ann"],"generation":4}`, 4, Record{Users: []string{"ann"}, Generation: 3, More: true}},
	} {
		t.Run(name, func(t *testing.T) {
			now := metav1.Now()
			of := &v1alpha1.RegoTemplate{
				ObjectMeta: metav1.ObjectMeta{Generation: tc.generation, DeletionTimestamp: &now,
					Annotations: map[string]string{v1alpha1.AnnotationAuthors: tc.record}}}
			if diff := cmp.Diff(tc.want, Of(of)); diff != "" {
				t.Errorf("record (-want +got)\n%s", diff)
			}
			pol := &v1alpha1.ClusterRegoPolicy{
				ObjectMeta: metav1.ObjectMeta{
					Generation: 1, Annotations: map[string]string{
						v1alpha1.AnnotationAuthors: `{"users":["cid"],"generation":1}`}}}
			pol.Spec.TemplateRef = &v1alpha1.TemplateReference{Name: "t"}
			if got := Of(WithTemplate(pol, of)); got.More != tc.want.More || !got.Wrote("ann") || !got.Wrote("cid") {
				t.Errorf("its policy has %s", got)
			}
		})
	}
}

// TestTheAuthorsOfATemplateAreAuthorsOfItsPolicies holds the record of a policy together with
// that of the template that it names.
func TestTheAuthorsOfATemplateAreAuthorsOfItsPolicies(t *testing.T) {
	type keys = map[string]string
	by := func(users string) keys {
		return keys{v1alpha1.AnnotationAuthors: `{"users":[` + users + `],"generation":2}`}
	}
	template := func(annotations, labels keys) *v1alpha1.RegoTemplate {
		return &v1alpha1.RegoTemplate{
			ObjectMeta: metav1.ObjectMeta{Annotations: annotations, Labels: labels, Generation: 2}}
	}
	full := ""
	for i := range MaxUsers {
		full += fmt.Sprintf("%q,", fmt.Sprint("user", i))
	}
	cases := map[string]struct {
		reason   string
		template *v1alpha1.RegoTemplate
		want     Record
	}{
		"both are named, each once": {template: template(by(`"bob","ann","cid"`), nil),
			want: Record{Users: []string{"ann", "bob", "cid"}, Generation: 1}},
		"a template that is gone has an author who isn't known": {
			reason: "else whoever wrote it would have it deleted, and approve",
			want:   Record{Users: []string{"ann"}, Generation: 1, More: true}},
		"so has one that was changed past admission": {
			template: template(keys{v1alpha1.AnnotationAuthors: `{"users":["bob"],"generation":1}`}, nil),
			want:     Record{Users: []string{"ann", "bob"}, Generation: 1, More: true}},
		"so has one without a record": {
			template: template(nil, nil), want: Record{Users: []string{"ann"}, Generation: 1, More: true}},
		"so have more than a record can hold": {
			template: template(by(strings.TrimSuffix(full, ",")), nil),
			want:     Record{Users: append([]string{"ann"}, users(MaxUsers-1)...), Generation: 1, More: true}},
		"what comes from a repository does so by its template too": {
			template: template(by(`"bob"`), keys{v1alpha1.LabelSourceName: "src"}),
			want:     Record{Users: []string{"ann", "bob"}, Generation: 1, Source: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pol := &v1alpha1.ClusterRegoPolicy{
				ObjectMeta: metav1.ObjectMeta{
					Generation: 1, Annotations: keys{v1alpha1.AnnotationAuthors: `{"users":["ann"],"generation":1}`}}}
			if diff := cmp.Diff(Record{Users: []string{"ann"}, Generation: 1},
				Of(WithTemplate(pol, tc.template))); diff != "" {
				t.Errorf("of a policy with a rule of its own (-want +got):\n%s", diff)
			}
			pol.Spec.TemplateRef = &v1alpha1.TemplateReference{Name: "t"}
			if diff := cmp.Diff(tc.want, Of(WithTemplate(pol, tc.template))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if Of(pol).Wrote("bob") {
				t.Error("the policy itself was changed")
			}
		})
	}
}

func users(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("user", i)
	}
	return out
}
