// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

//go:embed templates
var templates embed.FS

// Options say what policy is wanted.
type Options struct {
	// Name is the policy's, its words joined by dashes or underscores.
	Name string
	// Dir is the directory that the policy's own is made in; it gives the package
	// its category.
	Dir string
	// Kind is what the rule concerns. A rule on Pods covers workloads too.
	Kind schema.GroupVersionKind
	// Owner answers for the rule, Runbook is the web page that tells what to do
	// about a violation.
	Owner, Runbook string
	// Fix adds a remediation.
	Fix bool
}

// Policy is a policy's directory, not written yet.
type Policy struct {
	// ID is the name of the policy object, Package that of the Rego package.
	ID, Package string
	// Dir is the name of its directory.
	Dir string
	// Files are what the directory holds.
	Files []File
}

// File is one file of a policy's directory.
type File struct {
	Name string
	Text []byte
}

// New makes a policy. The errors say which of the options is wrong, and what to give.
func New(opts Options) (*Policy, error) {
	pkg, err := packageOf(opts.Dir, snakeCase(opts.Name))
	if err := errors.Join(checkName(opts.Name), err, checkTexts(opts)); err != nil {
		return nil, err
	}
	p := &Policy{ID: strings.ReplaceAll(opts.Name, "_", "-"), Dir: snakeCase(opts.Name), Package: pkg}
	set := "object"
	if opts.Kind.GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
		set = "pod"
	}
	values := map[string]any{
		"ID": p.ID, "Name": p.Dir, "Package": p.Package, "Fix": opts.Fix,
		"Owner": opts.Owner, "Runbook": opts.Runbook,
		"Group": opts.Kind.Group, "Kind": opts.Kind.Kind, "APIVersion": opts.Kind.GroupVersion().String(),
	}
	for _, name := range []string{"policy.rego", "policy_test.rego", "examples.yaml"} {
		text, err := render(path.Join("templates", set, name+".tmpl"), values)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, File{Name: strings.Replace(name, "policy", p.Dir, 1), Text: text})
	}
	return p, nil
}

func checkTexts(opts Options) error {
	var errs []error
	if strings.TrimSpace(opts.Owner) == "" || strings.ContainsAny(opts.Owner, "\n\r") {
		errs = append(errs, errors.New("--owner must name the team that answers for the rule, in one line"))
	}
	runbook, err := url.Parse(opts.Runbook)
	if err != nil || runbook.Host == "" || (runbook.Scheme != "https" && runbook.Scheme != "http") {
		errs = append(errs, fmt.Errorf(
			"--runbook %q must be a web address, for example https://example.com/runbooks/%s", opts.Runbook, opts.Name))
	}
	return errors.Join(errs...)
}

func render(file string, values map[string]any) ([]byte, error) {
	parsed, err := template.New(path.Base(file)).Funcs(template.FuncMap{"yaml": scalar}).ParseFS(templates, file)
	if err != nil {
		return nil, fmt.Errorf("read the template %s: %w", file, err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, values); err != nil {
		return nil, fmt.Errorf("fill in the template %s: %w", file, err)
	}
	return text.Bytes(), nil
}

// scalar writes a text so that YAML reads it as that text.
func scalar(text string) (string, error) {
	written, err := yaml.Marshal(text)
	return strings.TrimSpace(string(written)), err
}
