// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestASelectorSelectsAsKubernetesDoes(t *testing.T) {
	both := &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"tier": "web"},
		MatchExpressions: []v1alpha1.LabelSelectorRequirement{
			{Key: "stage", Operator: metav1.LabelSelectorOpIn, Values: []string{"dev", "test"}}}}
	for name, tc := range map[string]struct {
		selector          *v1alpha1.LabelSelector
		narrows, web, api bool
	}{
		"none":                   {},
		"an empty one":           {selector: &v1alpha1.LabelSelector{}, web: true, api: true},
		"labels and expressions": {selector: both, narrows: true, web: true},
		"a key that is missing": {selector: &v1alpha1.LabelSelector{
			MatchExpressions: []v1alpha1.LabelSelectorRequirement{
				{Key: "stage", Operator: metav1.LabelSelectorOpDoesNotExist}}}, narrows: true, api: true},
	} {
		t.Run(name, func(t *testing.T) {
			selector, err := tc.selector.Selector()
			if err != nil {
				t.Fatal(err)
			}
			web := selector.Matches(labels.Set{"tier": "web", "stage": "dev"})
			api := selector.Matches(labels.Set{"tier": "api"})
			if web != tc.web || api != tc.api || tc.selector.Selects() != tc.narrows {
				t.Errorf("selects web %t, api %t, leaves something out %t", web, api, tc.selector.Selects())
			}
		})
	}
	if _, err := (&v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"-": "a"}}).Selector(); err == nil {
		t.Error("a key that no label can have is taken")
	}
}
