// SPDX-License-Identifier: Apache-2.0

package authors

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// MaxUsers is how many users a record names at most.
	MaxUsers = v1alpha1.MaxAuthors
	// maxUser is the longest user name that is recorded.
	maxUser = 253
)

// Record is who has written a policy's spec.
type Record struct {
	// Users are all who have, in the order of their first change.
	Users []string `json:"users"`
	// Generation is that of the spec that the record speaks of: see Generation. A policy of another
	// generation was changed by somebody whom admission hasn't seen.
	Generation int64 `json:"generation"`
	// More says that somebody has written it who isn't named.
	More bool `json:"more,omitempty"`
	// Source says that it bears, or has borne, the label of a PolicySource: who has
	// committed what the manager wrote only the repository knows.
	Source bool `json:"source,omitempty"`
}

// Unknown is the record of a policy of which nobody knows who has written it.
func Unknown() Record { return Record{Users: []string{}, More: true} }

// Read is the record of a policy by its metadata, as it stands: the authors'
// annotation, or the last author's where an earlier version has kept that alone.
// The generation is by Generation.
func Read(annotations, labels map[string]string, generation int64) Record {
	r := stated(annotations, generation)
	r.Source = r.Source || labels[v1alpha1.LabelSourceName] != ""
	return r
}

// WithTemplate is a policy with the authors of the RegoTemplate that it names among its own:
// who has written either has written the rule. The template is nil where there is none, which
// leaves its authors unknown. It is for reading, never to be stored.
func WithTemplate(pol *v1alpha1.ClusterRegoPolicy, t *v1alpha1.RegoTemplate) *v1alpha1.ClusterRegoPolicy {
	if pol.Spec.TemplateRef == nil {
		return pol
	}
	of := Unknown()
	if t != nil {
		of = Of(t)
	}
	both := Of(pol)
	for _, user := range of.Users {
		both = both.by(user)
	}
	both.More, both.Source = both.More || of.More, both.Source || of.Source
	read := pol.DeepCopy()
	metav1.SetMetaDataAnnotation(&read.ObjectMeta, v1alpha1.AnnotationAuthors, both.String())
	return read
}

// Of is the record of a policy, or of another object whose authors admission records. Of a
// policy, that of its template counts too: see WithTemplate.
func Of(obj metav1.Object) Record {
	return Read(obj.GetAnnotations(), obj.GetLabels(),
		Generation(obj.GetGeneration(), obj.GetDeletionTimestamp() != nil))
}

// Generation is how often an object's spec was written. The API server counts
// metadata.generation up once more when it marks an object as being deleted, which changes no
// spec, and which no admission of an update sees.
func Generation(counted int64, deleting bool) int64 {
	if deleting {
		return counted - 1
	}
	return counted
}

func stated(annotations map[string]string, generation int64) Record {
	text, recorded := annotations[v1alpha1.AnnotationAuthors]
	last := annotations[v1alpha1.AnnotationAuthor]
	switch {
	case !recorded && last == "":
		r := Unknown()
		r.Generation = generation
		return r
	case !recorded:
		return Record{Users: []string{}, Generation: generation}.by(last)
	}
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Users == nil || !r.holds() {
		r = Unknown()
	}
	if r.Generation != generation || len(r.Users) == 0 {
		r.More, r.Generation = true, generation
	}
	return r
}

// holds says whether the record keeps to its bounds, as all do that admission writes.
func (r Record) holds() bool {
	return len(r.Users) <= MaxUsers && !slices.ContainsFunc(r.Users, func(user string) bool {
		return user == "" || len(user) > maxUser
	})
}

// Changed is the record after a user has changed the spec to a new generation.
func (r Record) Changed(user string, generation int64) Record {
	r = r.by(user)
	r.Generation = generation
	return r
}

// by adds a user, or says that there is another one.
func (r Record) by(user string) Record {
	switch {
	case slices.Contains(r.Users, user):
	case user == "" || len(user) > maxUser || len(r.Users) >= MaxUsers:
		r.More = true
	default:
		r.Users = append(slices.Clone(r.Users), user)
	}
	return r
}

// Wrote says whether the record names a user.
func (r Record) Wrote(user string) bool { return slices.Contains(r.Users, user) }

// String is the record as the annotation holds it.
func (r Record) String() string {
	if r.Users == nil {
		r.Users = []string{}
	}
	text, _ := json.Marshal(r) //nolint:errchkjson // strings, numbers and booleans can always be marshalled
	return string(text)
}
