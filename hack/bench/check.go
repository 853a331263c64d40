// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/template"
	"time"
)

// tool is a command that checks manifests.
type tool struct {
	name    string
	command []string
	// message is the field of a violation's message in its JSON.
	message string
}

// check times evenkeel check beside conftest and gator test: the same manifests, the same four rules in the language of
// each (rules), from the start of the command to its end.
func (b *bench) check(ctx context.Context) error {
	manifests := b.in("manifests")
	if err := writeManifests(manifests, b.objects); err != nil {
		return err
	}
	tools, err := b.tools(ctx, manifests)
	if err != nil {
		return err
	}
	found, err := agree(ctx, tools)
	if err != nil {
		return err
	}
	c := contest{name: "check", metrics: []metric{{"time", "s"}, {"CPU", "s"}, {"memory", "MB"}}}
	for _, t := range tools {
		c.contestants = append(c.contestants, contestant{t.name, t.measure})
	}
	if err := c.run(ctx, b.runs); err != nil {
		return err
	}
	return c.report(b.table,
		fmt.Sprintf("%d manifests, 4 rules; each tool finds the same %d violations.", b.objects, found),
		required{"times as fast as conftest", c.ratios(0, 1), "", 2, true})
}

func (b *bench) tools(ctx context.Context, manifests string) ([]tool, error) {
	own, err := b.checker(ctx)
	if err != nil {
		return nil, err
	}
	conftest, err := b.peer(ctx, "conftest", "conftest", conftestVersion, "github.com/open-policy-agent/conftest")
	if err != nil {
		return nil, err
	}
	gator, err := b.peer(ctx, "gator", "gator", gatorVersion, "github.com/open-policy-agent/gatekeeper/v3/cmd/gator")
	if err != nil {
		return nil, err
	}
	rules := filepath.Join(b.here, "rules")
	return []tool{
		{"`evenkeel check`",
			[]string{own, "check", "-p", filepath.Join(rules, "evenkeel"), "-o", "json", manifests}, "message"},
		{"`conftest test` " + conftestVersion,
			[]string{conftest, "test", "--policy", filepath.Join(rules, "conftest"), "--output", "json", manifests},
			"msg"},
		{"`gator test` " + gatorVersion,
			[]string{gator, "test", "--filename", filepath.Join(rules, "gatekeeper"), "--filename", manifests,
				"--output", "json"}, "msg"},
	}, nil
}

func (t *tool) measure(ctx context.Context, _ int) ([]float64, error) {
	cmd := exec.CommandContext(ctx, t.command[0], t.command[1:]...)
	began := time.Now()
	err := cmd.Run() // that it works was seen before; code 1 is expected
	took := time.Since(began)
	if cmd.ProcessState == nil {
		return nil, err
	}
	usage, is := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !is {
		return nil, errors.New("the system counts no memory")
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return []float64{took.Seconds(), cpu.Seconds(), float64(usage.Maxrss) / 1024}, nil // Linux counts kilobytes
}

// agree runs each command once. All must find the same violations: it returns how many.
func agree(ctx context.Context, tools []tool) (int, error) {
	var first []string
	for i, t := range tools {
		output, err := output(exec.CommandContext(ctx, t.command[0], t.command[1:]...))
		if err != nil {
			return 0, err
		}
		var printed any
		if err := json.Unmarshal(output, &printed); err != nil {
			return 0, fmt.Errorf("read the output of %s: %w", t.name, err)
		}
		messages := messagesOf(printed, t.message)
		slices.Sort(messages)
		if i == 0 {
			first = messages
		}
		if !slices.Equal(first, messages) {
			return 0, fmt.Errorf("%s finds %d violations and %s finds %d, or others: the rules differ", tools[0].name,
				len(first), t.name, len(messages))
		}
	}
	if len(first) == 0 {
		return 0, errors.New("no tool finds anything: that proves nothing")
	}
	return len(first), nil
}

// messagesOf are the texts of all fields of a name in the JSON that a tool prints.
func messagesOf(value any, field string) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, of := range v {
			if text, is := of.(string); is && name == field {
				all = append(all, text)
			}
			all = append(all, messagesOf(of, field)...)
		}
	case []any:
		for _, of := range v {
			all = append(all, messagesOf(of, field)...)
		}
	}
	return all
}

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

// objectOf is the nth object. Some violate a rule: the same ones in each run.
func objectOf(n int) object {
	kinds := mix()
	o := object{
		Kind:     kinds[n%len(kinds)],
		Name:     fmt.Sprintf("service-%d", n),
		Team:     fmt.Sprintf("team-%d", n/len(kinds)%20),
		Minor:    n % 60,
		User:     1000 + n%500,
		Replicas: 1 + n%5,
		Limits:   n%7 != 0, Privileged: n%13 == 0, HostNetwork: n%17 == 0,
	}
	o.Tag = fmt.Sprintf("1.%d.0", o.Minor)
	if n%11 == 0 {
		o.Tag = "latest"
	}
	return o
}

// writeManifests writes one file for each object, ten to a folder.
func writeManifests(dir string, count int) error {
	parsed := template.New("")
	render := func(name string, o object) (string, error) {
		var text strings.Builder
		err := parsed.ExecuteTemplate(&text, name, o)
		return text.String(), err
	}
	parsed.Funcs(template.FuncMap{
		"indent": func(by int, text string) string {
			return strings.ReplaceAll(strings.Repeat(" ", by)+text, "\n", "\n"+strings.Repeat(" ", by))
		},
		"include": render,
	})
	if _, err := parsed.ParseFS(templates, "templates/*.tmpl"); err != nil {
		return err
	}
	for n := range count {
		o := objectOf(n)
		text, err := render(o.Kind, o)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, fmt.Sprintf("app-%03d", n/len(mix())),
			fmt.Sprintf("%s-%s.yaml", o.Name, strings.ToLower(o.Kind)))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
