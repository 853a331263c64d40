// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy/condition"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/prose"
)

// The bounds that the API's schema states.
const (
	maxName        = 52
	maxTitle       = 120
	maxDescription = 4096
)

// checker holds one policy's METADATA against what a policy must have.
type checker struct {
	*metadata
	found *problems
}

func (c *checker) wrong(key, format string, args ...any) {
	c.found.add(c.File, c.line(key), key+": "+format, args...)
}

// fieldOfSpec is the field of a policy's spec that a message begins with.
var fieldOfSpec = regexp.MustCompile(`^spec\.([A-Za-z0-9_.\[\]]*[A-Za-z0-9_\]])(\[\])?:? `)

// wrongField takes a message that names a field of the spec, and says it of the key
// that the author wrote.
func (c *checker) wrongField(message string) {
	key := "custom.match"
	if field := fieldOfSpec.FindStringSubmatch(message); field != nil {
		key, message = "custom."+field[1], message[len(field[0]):]
	}
	c.wrong(key, "%s", strings.ReplaceAll(message, "spec.", "custom."))
}

func (c *checker) checkMetadata() {
	c.checkID()
	c.checkTexts()
	c.checkOwner()
	c.checkRunbook()
	c.checkEnums()
	if err := match.Validate(
		&v1alpha1.ClusterRegoPolicy{
			Spec: v1alpha1.RegoPolicySpec{Match: c.custom.Match, Admission: c.custom.Admission}}); err != nil {
		c.wrongField(err.Error())
	}
	if given := c.custom.Parameters; given != nil && !bytes.HasPrefix(bytes.TrimSpace(given.Raw), []byte("{")) {
		c.wrong("custom.parameters", "they must be an object, a key for each: {key: value}")
	}
	c.checkConditions()
	c.checkRemediation()
}

func (c *checker) checkConditions() {
	_, err := condition.Compile(c.custom.Admission.MatchConditions)
	var compile *condition.CompileError
	if !errors.As(err, &compile) {
		return
	}
	for _, p := range compile.Problems {
		key := "custom" + strings.TrimPrefix(p.Field(), "spec")
		if p.Row > 0 {
			c.wrong(key, "%d:%d: %s", p.Row, p.Col, p.Message)
			continue
		}
		c.wrong(key, "%s", p.Message)
	}
}

func (c *checker) checkID() {
	id := c.custom.ID
	for _, reason := range validation.IsDNS1123Label(id) {
		c.wrong("custom.id", "%q can't be the name of a policy: %s", id, reason)
	}
	if len(id) > maxName {
		c.wrong("custom.id", "%q has %d characters: shorten it to %d", id, len(id), maxName)
	}
}

func (c *checker) checkTexts() {
	title := strings.TrimSpace(c.Title)
	if title == "" {
		c.wrong("title", "it is missing: say in one line what the rule asks for")
	}
	if count := utf8.RuneCountInString(title); count > maxTitle {
		c.wrong("title", "it has %d characters: shorten it to %d", count, maxTitle)
	}
	if count := utf8.RuneCountInString(c.Description); count > maxDescription {
		c.wrong("description", "it has %d characters: shorten it to %d", count, maxDescription)
	}
}

func (c *checker) checkOwner() {
	owners := c.Organizations
	switch {
	case c.owner() == "" && c.acts():
		c.wrong("organizations", "the owner is missing, and the policy refuses requests or remediates: name the team "+
			"that answers for the rule, which is notified when it does harm")
	case len(owners) > 1:
		c.wrong("organizations", "%d are named: name the one team that answers for the rule", len(owners))
	}
}

func (c *checker) checkRunbook() {
	if c.runbook() == "" && len(c.RelatedResources) > 0 {
		c.wrong("related_resources", "the first ref isn't the runbook's URL: give that, https://…")
	}
}

// acts is what the API asks of the policy as it would be.
func (c *checker) acts() bool {
	return (&v1alpha1.RegoPolicySpec{Admission: c.custom.Admission, Remediation: c.custom.Remediation}).Acts()
}

func (c *checker) checkEnums() {
	meta := c.custom
	checkEnum(c, "custom.severity", meta.Severity,
		v1alpha1.SeverityCritical, v1alpha1.SeverityHigh, v1alpha1.SeverityMedium, v1alpha1.SeverityLow)
	checkEnum(c, "custom.admission.action", meta.Admission.Action,
		v1alpha1.AdmissionDeny, v1alpha1.AdmissionWarn, v1alpha1.AdmissionAudit)
	checkEnum(c, "custom.admission.failurePolicy", meta.Admission.FailurePolicy,
		v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore)
	checkEnum(c, "custom.admission.existingViolations", meta.Admission.ExistingViolations,
		v1alpha1.ExistingAllow, v1alpha1.ExistingDeny)
}

// checkEnum passes an absent value: its default is allowed.
func checkEnum[T ~string](c *checker, key string, value T, allowed ...T) {
	if value != "" && !slices.Contains(allowed, value) {
		c.wrong(key, "%q isn't supported: use one of %s%s", value, strings.Trim(fmt.Sprint(allowed), "[]"),
			prose.DidYouMean(string(value), texts(allowed)))
	}
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = string(value)
	}
	return out
}

// checkRemediation asks the judge that admission asks, so that a policy that builds
// is also accepted.
func (c *checker) checkRemediation() {
	for _, problem := range canary.ValidatePolicy(&c.custom.Remediation) {
		c.wrong("custom.remediation."+problem.Field, "%s", problem.Message)
	}
}
