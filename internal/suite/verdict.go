// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// TimeLimit is generous: a test on a busy machine has to fail for the rule's
// sake only.
const TimeLimit = 10 * time.Second

// Now is the time that examples are judged at: always the same, so that a verdict
// that depends on the time is the same tomorrow.
func Now() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// judge is one policy with one set of parameters.
type judge struct {
	name     string
	snapshot *catalog.Snapshot
	// allowed are the verbs that the policy's fixes may use.
	allowed []v1alpha1.ActionType
}

func newJudge(definition *v1alpha1.ClusterRegoPolicy, engine rego.Engine, parameters any, others catalog.Inventory) (
	*judge, error) {
	if parameters != nil {
		text, err := json.Marshal(parameters)
		if err != nil {
			return nil, fmt.Errorf("write the parameters as JSON: %w", err)
		}
		definition = definition.DeepCopy()
		definition.Spec.Parameters = &apiextensionsv1.JSON{Raw: text}
	}
	policies := catalog.New(catalog.Options{TimeLimit: TimeLimit, Engine: engine})
	if err := policies.Set(definition); err != nil {
		return nil, err
	}
	policies.MarkComplete()
	strategy := definition.Spec.Remediation.DeepCopy()
	strategy.SetDefaults()
	return &judge{name: definition.Name, snapshot: policies.Snapshot().Seeing(others),
		allowed: strategy.AllowedActions}, nil
}

func (j *judge) decide(ctx context.Context, r *policy.Request) (policy.Decision, bool) {
	result, matched := j.snapshot.EvaluateOne(ctx, j.name, r)
	return result.Decision, matched
}

// accord says whether each part is in a message of its own, and no message is
// left over.
func accord(parts []string, found []policy.Violation) bool {
	if len(parts) != len(found) {
		return false
	}
	holder := make([]int, len(found)) // which part a message is given to, from 1
	for part := range parts {
		if !give(part, parts, found, holder, make([]bool, len(found))) {
			return false
		}
	}
	return true
}

// give finds the part a message, moving other parts to other messages where
// need be (the augmenting path of a bipartite matching).
func give(part int, parts []string, found []policy.Violation, holder []int, tried []bool) bool {
	for i, violation := range found {
		if tried[i] || !strings.Contains(violation.Message, parts[part]) {
			continue
		}
		tried[i] = true
		if holder[i] == 0 || give(holder[i]-1, parts, found, holder, tried) {
			holder[i] = part + 1
			return true
		}
	}
	return false
}

func quoteParts(parts []string) string { return quoteList(parts, "nothing") }

func quoteFound(found []policy.Violation) string {
	messages := make([]string, len(found))
	for i, violation := range found {
		messages[i] = violation.Message
	}
	return quoteList(messages, "nothing")
}

func quoteList(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, "\n")
}
