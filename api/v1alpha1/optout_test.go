// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnOptOutThatHasNoEffectIsToldFromOneThatHas(t *testing.T) {
	type words = map[string]string
	cases := map[string]struct {
		annotations, labels words
		out                 bool
		doubt               string
	}{
		"nothing is said": {},
		"it opts out":     {annotations: words{AnnotationRemediation: "paused"}, out: true},
		"another value":   {annotations: words{AnnotationRemediation: "disabled"}, doubt: `it is "disabled"`},
		"another case":    {annotations: words{AnnotationRemediation: "Paused"}, doubt: `it is "Paused"`},
		"no value":        {annotations: words{AnnotationRemediation: ""}, doubt: `it is ""`},
		"a label": {labels: words{AnnotationRemediation: "paused"},
			doubt: "a label of that name has no effect"},
		"a label and an annotation": {words{AnnotationRemediation: "paused"}, words{AnnotationRemediation: "x"}, true,
			""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &metav1.ObjectMeta{Annotations: tc.annotations, Labels: tc.labels}
			if got := OptsOut(obj); got != tc.out {
				t.Errorf("opts out: %v", got)
			}
			got := IneffectiveOptOut(obj)
			if (got == "") != (tc.doubt == "") || !strings.Contains(got, tc.doubt) {
				t.Errorf("got %q, want %q", got, tc.doubt)
			}
			if got != "" && !strings.Contains(got, `must be "paused"`) {
				t.Errorf("it doesn't say what to do: %s", got)
			}
		})
	}
}
