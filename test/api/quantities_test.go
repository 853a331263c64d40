// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// kinds are the API's own, with what people write in them.
func kinds() map[string]reflect.Type {
	return map[string]reflect.Type{
		"ClusterRegoPolicy":   reflect.TypeFor[v1alpha1.ClusterRegoPolicy](),
		"RemediationStrategy": reflect.TypeFor[v1alpha1.RemediationStrategy](),
		"Waiver":              reflect.TypeFor[v1alpha1.Waiver](),
		"PolicySource":        reflect.TypeFor[v1alpha1.PolicySource](),
		"Remediation":         reflect.TypeFor[v1alpha1.Remediation](),
		"RemediationSlice":    reflect.TypeFor[v1alpha1.RemediationSlice](),
		"RemediationBreaker":  reflect.TypeFor[v1alpha1.RemediationBreaker](),
	}
}

// TestDurationsAndSharesAreCheckedByTheSchema holds for every field that the manager
// reads as a duration, or as a count or percentage. The API server itself must refuse what
// can't be read, for the webhooks may be away.
func TestDurationsAndSharesAreCheckedByTheSchema(t *testing.T) {
	schemas := map[string]apiextensionsv1.JSONSchemaProps{}
	visit(t, func(path string, schema apiextensionsv1.JSONSchemaProps) { schemas[path] = schema })
	durations, shares := 0, 0
	for kind, typ := range kinds() {
		fields(kind, typ, func(path string, typ reflect.Type) {
			schema, found := schemas[path]
			switch {
			case !found:
				t.Errorf("%s: it has no schema", path)
			case strings.HasPrefix(path, "Remediation.spec.plan."):
				// The manager writes it, from values that were checked.
			case ruled(schemas[strings.TrimSuffix(path, "[]")], "false"):
				// It is refused by name.
			case typ == reflect.TypeFor[metav1.Duration]():
				durations++
				if !ruled(schema, "duration(self) >=") || !ruled(schema, "duration(self) <=") ||
					!ruled(schema, durationPattern) || schema.MaxLength == nil {
					t.Errorf("%s: give it the rule of the other durations, with a least and a largest value: %v", path,
						schema.XValidations)
				}
			case typ == reflect.TypeFor[intstr.IntOrString]():
				shares++
				if schema.Pattern == "" && !ruled(schema, "self.matches(") {
					t.Errorf("%s: give it a pattern, or a rule, for percentages", path)
				}
				if !ruled(schema, "self >=") {
					t.Errorf("%s: give it a rule with the least count", path)
				}
			}
		})
	}
	if durations < 12 || shares < 3 {
		t.Fatalf("found %d durations and %d shares: are the types walked?", durations, shares)
	}
}

// durationPattern is what the schema's rules take for a duration, beside its range.
const durationPattern = `^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$`

// TestDurationsAreAcceptedAsTheManagerWritesThem holds for any duration that somebody can
// give: the manager writes it again in Go's form.
func TestDurationsAreAcceptedAsTheManagerWritesThem(t *testing.T) {
	accepted := regexp.MustCompile(durationPattern)
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.StringMatching(`([0-9]{1,4}(\.[0-9]{1,3})?(h|m|s|ms)){1,3}`).Draw(t, "given")
		d, err := time.ParseDuration(given)
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		if written := d.String(); !accepted.MatchString(written) || len(written) > 32 {
			t.Fatalf("%s is written as %s, which the schema refuses", given, written)
		}
	})
}

func ruled(schema apiextensionsv1.JSONSchemaProps, text string) bool {
	for _, rule := range schema.XValidations {
		if strings.Contains(rule.Rule, text) {
			return true
		}
	}
	return false
}

// fields calls do for each field of a type, and of those below it, by its path in the
// schema. Metadata is Kubernetes' own.
func fields(path string, typ reflect.Type, do func(path string, typ reflect.Type)) {
	switch typ.Kind() {
	case reflect.Pointer:
		fields(path, typ.Elem(), do)
	case reflect.Slice:
		if typ.Elem().Kind() != reflect.Uint8 {
			fields(path+"[]", typ.Elem(), do)
		}
	case reflect.Map:
		fields(path+"{}", typ.Elem(), do)
	case reflect.Struct:
		if typ == reflect.TypeFor[metav1.Duration]() || typ == reflect.TypeFor[intstr.IntOrString]() {
			do(path, typ)
			return
		}
		if !strings.HasPrefix(typ.PkgPath(), reflect.TypeFor[v1alpha1.ClusterRegoPolicy]().PkgPath()) {
			return
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			switch {
			case name == "" && typ.Field(i).Anonymous:
				fields(path, typ.Field(i).Type, do)
			case name != "" && name != "metadata":
				fields(path+"."+name, typ.Field(i).Type, do)
			}
		}
	}
}
