// SPDX-License-Identifier: Apache-2.0

// Command cel judges Pods by ValidatingAdmissionPolicies, with the API server's own evaluator, to be measured. It takes
// Pods as the API server has them there, decoded, and so leaves decoding out; own --decoded does likewise.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"

	"evenkeel.dev/evenkeel/hack/bench/own/internal/cpu"
)

func main() {
	rules := flag.String("rules", "", "a JSON object of expressions by their rules' names")
	reviews := flag.String("reviews", "", "the AdmissionReviews of the Pods, one a line")
	limit := flag.Duration("time", 0, "print what a Pod takes, measured for this long")
	flag.Parse()
	if err := run(context.Background(), *rules, *reviews, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "cel:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, rules, reviews string, limit time.Duration) error {
	validators, err := compile(rules)
	if err != nil {
		return err
	}
	pods, err := read(reviews)
	if err != nil {
		return err
	}
	verdicts := func() (all [][]string) {
		for _, pod := range pods {
			all = append(all, judge(ctx, validators, pod))
		}
		return all
	}
	if limit <= 0 {
		return json.NewEncoder(os.Stdout).Encode(verdicts())
	}
	took, err := cpu.Each(limit, len(pods), func() error {
		verdicts()
		return nil
	})
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(took))
}

// compile compiles expressions as the API server compiles those of policies that are stored.
func compile(file string) ([]validating.Validator, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var expressions map[string]string
	if err := json.Unmarshal(text, &expressions); err != nil {
		return nil, err
	}
	fail := admissionregistrationv1.Fail
	var validators []validating.Validator
	for name, expression := range expressions {
		base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		compiler, err := cel.NewCompositedCompiler(base)
		if err != nil {
			return nil, err
		}
		conditions := func(accessors ...cel.ExpressionAccessor) cel.ConditionEvaluator {
			return compiler.CompileCondition(accessors, cel.OptionalVariableDeclarations{HasAuthorizer: true},
				environment.StoredExpressions)
		}
		rule := conditions(&validating.ValidationCondition{Expression: expression, Message: name})
		if errs := rule.CompilationErrors(); len(errs) > 0 {
			return nil, fmt.Errorf("%s: %w", name, errors.Join(errs...))
		}
		validators = append(validators, validating.NewValidator(rule, nil, conditions(), conditions(), &fail, nil))
	}
	return validators, nil
}

func read(file string) (pods []*corev1.Pod, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		review, pod := &admissionv1.AdmissionReview{}, &corev1.Pod{}
		if err := json.Unmarshal(line, review); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(review.Request.Object.Raw, pod); err != nil {
			return nil, err
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// judge asks all of one Pod, as the API server does for one request: what it makes of the Pod for CEL is shared.
func judge(ctx context.Context, validators []validating.Validator, pod *corev1.Pod) []string {
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	attributes := &admission.VersionedAttributes{VersionedKind: kind,
		Attributes: admission.NewAttributesRecord(pod, nil, kind, pod.Namespace, pod.Name, resource, "",
			admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "jane"})}
	attributes.VersionedObject.Set(pod)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pod.Namespace}}
	messages := []string{}
	for _, v := range validators {
		for _, d := range v.Validate(ctx, resource, attributes, nil, namespace, celconfig.RuntimeCELCostBudget,
			nil).Decisions {
			if d.Action != validating.ActionAdmit {
				messages = append(messages, d.Message)
			}
		}
	}
	slices.Sort(messages)
	return messages
}
