// SPDX-License-Identifier: Apache-2.0

package source

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// hats is the source of the tests.
var hats = owner{"evenkeel-system", "hats"}

// located makes a policy of the repository.
func located(name string, changes ...func(*v1alpha1.ClusterRegoPolicy)) directory.Located {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RegoPolicySpec{
		Title: name, Owner: "team", Severity: v1alpha1.SeverityHigh, RunbookURL: "https://example.com",
		Rego:  v1alpha1.RegoSource{File: name + "/" + name + ".rego", Main: "package " + name},
		Match: v1alpha1.Match{Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
	}}
	for _, change := range changes {
		change(p)
	}
	p.SetDefaults()
	return directory.Located{Dir: "policies/" + name, Definition: p}
}

// inCluster is a policy of the repository as the source has made it.
func inCluster(name string, changes ...func(*v1alpha1.ClusterRegoPolicy)) v1alpha1.ClusterRegoPolicy {
	w := located(name)
	p := *w.Definition.DeepCopy()
	p.UID = types.UID("uid-of-" + name)
	p.Labels = hats.labels()
	p.Annotations = map[string]string{
		v1alpha1.AnnotationSourcePath: w.Dir, v1alpha1.AnnotationSourceRevision: "main@sha1:1",
		v1alpha1.AnnotationAuthor: "manager"}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func parameters(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
