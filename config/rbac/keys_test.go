// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/cel/environment"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/config/rbac"
)

// keys is the shipped policy, its expressions compiled as the API server does.
type keys struct {
	spec     admissionregistrationv1.ValidatingAdmissionPolicySpec
	programs map[string]cel.Program
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if err := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(rbac.Keys), len(rbac.Keys)).Decode(policy); err != nil {
		t.Fatal(err)
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: []cel.EnvOption{
			cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
			cel.Variable("request", cel.DynType), cel.Variable("variables", cel.DynType)}},
		environment.StrictCostOpt)
	if err != nil {
		t.Fatal(err)
	}
	k := &keys{spec: policy.Spec, programs: map[string]cel.Program{}}
	for _, expression := range k.expressions() {
		ast, issues := set.StoredExpressionsEnv().Compile(expression)
		if issues.Err() != nil {
			t.Fatalf("%v", issues.Err())
		}
		if k.programs[expression], err = set.StoredExpressionsEnv().Program(ast); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func (k *keys) expressions() (out []string) {
	for _, c := range k.spec.MatchConditions {
		out = append(out, c.Expression)
	}
	for _, v := range k.spec.Variables {
		out = append(out, v.Expression)
	}
	for _, v := range k.spec.Validations {
		out = append(out, v.Expression, v.MessageExpression)
	}
	return out
}

// warnings are what a user is told who makes old into object.
func (k *keys) warnings(t failer, object, old map[string]any, user string) (told []string) {
	variables := map[string]any{}
	given := map[string]any{"object": orNull(object), "oldObject": orNull(old), "variables": variables,
		"request": map[string]any{"userInfo": map[string]any{"username": user}}}
	eval := func(expression string) any {
		value, _, err := k.programs[expression].Eval(given)
		if err != nil {
			t.Fatalf("%v of %v in\n%s", err, given, expression)
		}
		return value.Value()
	}
	for _, c := range k.spec.MatchConditions {
		if eval(c.Expression) == false {
			return nil
		}
	}
	for _, v := range k.spec.Variables {
		variables[v.Name] = eval(v.Expression)
	}
	for _, v := range k.spec.Validations {
		if eval(v.Expression) == false {
			told = append(told, eval(v.MessageExpression).(string))
		}
	}
	return told
}

type failer interface {
	Fatalf(format string, args ...any)
}

func orNull(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}

type words = map[string]string

// with is an object with annotations and labels.
func with(annotations, labels words) map[string]any {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	u.SetName("shop")
	u.SetAnnotations(annotations)
	u.SetLabels(labels)
	return u.Object
}

func TestAKeyWithoutEffectIsWarnedOf(t *testing.T) {
	const out, until, tier = v1alpha1.AnnotationRemediation, v1alpha1.AnnotationPausedUntil, v1alpha1.LabelTier
	cases := map[string]struct {
		reason                       string
		annotations, labels          words
		annotationsBefore, labelsWas words
		isUpdate                     bool
		user                         string
		want                         string // of one warning; empty: none
	}{
		"nothing of ours": {
			annotations: words{"team": "shop"},
			labels:      words{"evenkeel.example.com/x": "y"},
		},
		"an opt-out":    {annotations: words{out: "paused"}},
		"another value": {annotations: words{out: "disabled"}, want: `it is "disabled"`},
		"it was there before": {
			"once is enough", words{out: "off"}, words{"a": "b"}, words{out: "off"}, nil, true, "",
			"",
		},
		"a label": {labels: words{out: "paused"}, want: "a label of that name has no effect"},
		"an end that is none": {
			annotations: words{out: "paused", until: "tomorrow"},
			want:        `it is "tomorrow"`,
		},
		"nothing but an end": {
			annotations: words{until: "2027-01-07T08:00:00Z"},
			want:        "has no effect without it",
		},
		"the opt-out goes": {
			"its end is left", words{until: "x"}, nil, words{until: "x", out: "paused"}, nil, true, "",
			"without it",
		},
		"a key with a slip": {
			annotations: words{"evenkeel.dev/remediaton": "paused"},
			want:        "did you mean the annotation evenkeel.dev/remediation?",
		},
		"an end with a slip": {
			annotations: words{out: "paused", "evenkeel.dev/remediation-pause-until": "x"},
			want:        "did you mean the annotation " + until + "?",
		},
		"an end as a label": {
			labels: words{until: "x"},
			want:   "knows no label " + until + ", so that it has no effect; did you mean the annotation " + until,
		},
		"a key that is unknown": {
			annotations: words{"evenkeel.dev/remidiation": "paused"},
			want:        "to keep remediation off: " + out + "=paused",
		},
		"a slip that was there": {
			"once is enough", words{"evenkeel.dev/remediaton": "paused", "a": "b"}, nil,
			words{"evenkeel.dev/remediaton": "paused"}, nil, true, "", "",
		},
		"a label that a policy asks for": {
			"the library's owner_labels does", nil, words{"evenkeel.dev/owner": "team-shop"}, nil, nil, false,
			"", "",
		},
		"a tier":       {labels: words{tier: "critical"}},
		"another tier": {labels: words{tier: "Critical"}, want: `must be "critical"`},
		"another tier, as ever": {
			"once is enough", words{"a": "b"}, words{tier: "gold"}, nil, words{tier: "gold"}, true, "",
			"",
		},
		"a tier as annotation": {annotations: words{tier: "critical"}, want: "knows no annotation " + tier},
		"a controller's copy": {
			"it reads no warnings", words{out: "off"}, nil, nil, nil, false,
			"system:serviceaccount:kube-system:deployment-controller", "",
		},
	}
	k := newKeys(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var old map[string]any
			if tc.isUpdate {
				old = with(tc.annotationsBefore, tc.labelsWas)
			}
			told := k.warnings(t, with(tc.annotations, tc.labels), old, tc.user)
			if len(told) > 1 || (len(told) == 1) != (tc.want != "") ||
				!strings.Contains(strings.Join(told, ""), tc.want) {
				t.Errorf("%s: %q, want one with %q", tc.reason, told, tc.want)
			}
		})
	}
}

// What the API server warns of is what explain and doctor say, in the same words.
func TestTheWarningsOfOptOutsAreThoseOfTheProgram(t *testing.T) {
	k := newKeys(t)
	rapid.Check(t, func(t *rapid.T) {
		annotations, labels := someKeys(t, "annotation"), someKeys(t, "label")
		for key, value := range labels {
			labels[key] = value[:min(len(value), 63)] // as long as a label's may be
		}
		var told []string
		for _, one := range k.warnings(t, with(annotations, labels), nil, "ann") {
			if !strings.Contains(one, "to keep remediation off: ") && !strings.Contains(one, v1alpha1.LabelTier) {
				told = append(told, one)
			}
		}
		object := &unstructured.Unstructured{Object: with(annotations, labels)}
		want := slices.DeleteFunc([]string{v1alpha1.IneffectiveOptOut(object), unreadEnd(object),
			v1alpha1.MisspelledOptOut(object)}, func(text string) bool { return text == "" })
		if !slices.Equal(told, want) {
			t.Fatalf("the API server says %q, the program %q of annotations %v and labels %v", told, want, annotations,
				labels)
		}
	})
}

func unreadEnd(object *unstructured.Unstructured) string {
	if _, err := v1alpha1.OptOutEnd(object); err != nil {
		return err.Error()
	}
	return ""
}

// someKeys are annotations or labels, most of them near what counts.
func someKeys(t *rapid.T, sort string) words {
	names := []string{v1alpha1.AnnotationRemediation, v1alpha1.AnnotationPausedUntil, "evenkeel.dev/remediate",
		"evenkeel.dev/remediation-until", v1alpha1.LabelRemediation, v1alpha1.AnnotationLastRemediation, "team"}
	out := words{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, sort+"s") {
		out[name] = rapid.OneOf(rapid.SampledFrom([]string{"paused", "Paused", "", strings.Repeat("ab", 40)}),
			rapid.StringMatching(`[a-z]{0,70}`),
			rapid.Map(rapid.Int64Range(-62e9, 250e9), func(s int64) string {
				return time.Unix(s, 0).UTC().Format(time.RFC3339Nano)
			}),
			rapid.StringMatching(`(2027|2000|1900|2028)-(02|0[0-9]|1[0-9])-(29|[0-3][0-9])T[0-2]?[0-9]:[0-6][0-9]:[0-6][0-9]`+
				`([.,][0-9]{1,3})?(Z|z|[+-][0-2][0-9]:[0-6][0-9])`)).Draw(t, sort+" "+name)
	}
	return out
}

func TestTheKnownKeysAreThoseOfTheReference(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/labels.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(evenkeel.dev/[^`]+)` \\| annotation ").FindAllSubmatch(page, -1) {
		want = append(want, string(row[1]))
	}
	annotations := words{}
	for _, key := range want {
		annotations[key] = v1alpha1.RemediationPaused
	}
	annotations[v1alpha1.AnnotationPausedUntil] = "2027-01-07T08:00:00Z"
	k := newKeys(t)
	if told := k.warnings(t, with(annotations, nil), nil, "ann"); len(told) > 0 || len(want) < 10 {
		t.Errorf("of the %d annotations of docs/reference/labels.md: %q", len(want), told)
	}
	for _, known := range regexp.MustCompile(`'(evenkeel.dev/[a-z-]+)'`).FindAllStringSubmatch(k.of("unknownAnnotations"), -1) {
		if !slices.Contains(want, known[1]) {
			t.Errorf("the policy knows %s, which the reference doesn't", known[1])
		}
	}
}

// of is a variable's expression.
func (k *keys) of(variable string) string {
	at := slices.IndexFunc(k.spec.Variables,
		func(v admissionregistrationv1.Variable) bool { return v.Name == variable })
	return k.spec.Variables[at].Expression
}
