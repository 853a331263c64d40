// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// object is what a template needs of one manifest.
type object struct {
	Kind, Name, Team, Tag           string
	Minor, User, Replicas           int
	Limits, Privileged, HostNetwork bool
}

// mix is what ten objects of an application are.
func mix() []string {
	return []string{
		"Deployment", "Service", "ConfigMap", "Deployment", "Service",
		"StatefulSet", "ConfigMap", "CronJob", "Deployment", "Pod",
	}
}

// objectOf is the n-th object. Some violate a rule: the same ones in each run.
func objectOf(n int) object {
	kinds := mix()
	o := object{
		Kind:     kinds[n%len(kinds)],
		Name:     fmt.Sprintf("service-%d", n),
		Team:     fmt.Sprintf("team-%d", n/len(kinds)%20),
		Minor:    n % 60,
		User:     1000 + n%500,
		Replicas: 1 + n%5,
		Limits:   n%7 != 0,
	}
	o.Tag = fmt.Sprintf("1.%d.0", o.Minor)
	if n%11 == 0 {
		o.Tag = "latest"
	}
	o.Privileged = n%13 == 0
	o.HostNetwork = n%17 == 0
	return o
}

// writeManifests writes one file for each object, ten to a folder.
func writeManifests(dir string, count int) error {
	parsed, err := parseTemplates()
	if err != nil {
		return err
	}
	for n := range count {
		o := objectOf(n)
		text, err := render(parsed, o.Kind, o)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, fmt.Sprintf("app-%03d", n/len(mix())),
			fmt.Sprintf("%s-%s.yaml", o.Name, strings.ToLower(o.Kind)))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func parseTemplates() (*template.Template, error) {
	t := template.New("")
	t.Funcs(template.FuncMap{
		"indent": func(by int, text string) string {
			return strings.ReplaceAll(strings.Repeat(" ", by)+text, "\n", "\n"+strings.Repeat(" ", by))
		},
		"include": func(name string, o object) (string, error) { return render(t, name, o) },
	})
	return t.ParseFS(templates, "templates/*.tmpl")
}

func render(t *template.Template, name string, o object) (string, error) {
	var text strings.Builder
	err := t.ExecuteTemplate(&text, name, o)
	return text.String(), err
}
