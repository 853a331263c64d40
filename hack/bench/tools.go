// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The programs as their modules release them. The pins are in the folders' go.mod.
const (
	conftestVersion = "v0.71.1"
	gatorVersion    = "v3.23.1"
	kyvernoVersion  = "v1.19.1"
)

// tool is one command to time.
type tool struct {
	name, version string
	command       []string
	// messages reads what was found from the command's JSON.
	messages func(output []byte) ([]string, error)
}

// buildCheckers builds this repository's program, and gator where the cache lacks it; here is this module's folder.
func buildCheckers(ctx context.Context, cache, work string) (here, own, gator string, err error) {
	if here, err = root(); err != nil {
		return "", "", "", err
	}
	own = filepath.Join(work, "evenkeel")
	if err = goBuild(ctx, filepath.Join(here, "..", ".."), own, "./cmd/evenkeel"); err != nil {
		return "", "", "", err
	}
	gator, err = cachedGator(ctx, here, cache)
	return here, own, gator, err
}

// build builds what the cache lacks, and this repository's own program in any case.
func build(ctx context.Context, cache, work, manifests string) ([]tool, error) {
	here, own, gator, err := buildCheckers(ctx, cache, work)
	if err != nil {
		return nil, err
	}
	conftest, err := cached(ctx, filepath.Join(here, "conftest"), filepath.Join(cache, "conftest-"+conftestVersion),
		"github.com/open-policy-agent/conftest")
	if err != nil {
		return nil, err
	}
	rules := filepath.Join(here, "rules")
	return []tool{
		{"evenkeel check", "this commit",
			[]string{own, "check", "-p", filepath.Join(rules, "evenkeel"), "-o", "json", manifests}, ownMessages},
		{"conftest test", conftestVersion,
			[]string{conftest, "test", "--policy", filepath.Join(rules, "conftest"), "--output", "json", manifests},
			conftestMessages},
		{"gator test", gatorVersion,
			[]string{gator, "test", "--filename", filepath.Join(rules, "gatekeeper"), "--filename", manifests,
				"--output", "json"}, gatorMessages},
	}, nil
}

// root is the directory of this module, in which it must be run.
func root() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(here, "rules")); err != nil {
		return "", errors.New("run it in hack/bench, or by a target that make help lists, such as make bench-check")
	}
	return here, nil
}

func cached(ctx context.Context, module, program, pkg string) (string, error) {
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fmt.Printf("building %s; it takes minutes, once\n", filepath.Base(program))
	return program, goBuild(ctx, module, program, pkg)
}

func goBuild(ctx context.Context, module, program, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, pkg)
	cmd.Dir = module
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

func cachedGator(ctx context.Context, here, cache string) (string, error) {
	return cached(ctx, filepath.Join(here, "gator"), filepath.Join(cache, "gator-"+gatorVersion),
		"github.com/open-policy-agent/gatekeeper/v3/cmd/gator")
}

// agree runs each command once. All must say the same of the same objects; that
// is how many violations there are.
func agree(ctx context.Context, tools []tool) (int, error) {
	var first []string
	for i, t := range tools {
		output, err := run(ctx, t)
		if err != nil {
			return 0, err
		}
		messages, err := t.messages(output)
		if err != nil {
			return 0, fmt.Errorf("read what %s says: %w", t.name, err)
		}
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

// run runs a command. Code 1 says that there are violations, for each of them.
func run(ctx context.Context, t tool) ([]byte, error) { return runWith(ctx, nil, t.command) }

// runWith does so in an environment with some more variables.
func runWith(ctx context.Context, env, command []string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

func ownMessages(output []byte) ([]string, error) {
	var report struct {
		Results []struct{ Violations []struct{ Message string } }
	}
	err := json.Unmarshal(output, &report)
	var messages []string
	for _, r := range report.Results {
		for _, v := range r.Violations {
			messages = append(messages, v.Message)
		}
	}
	return messages, err
}

func conftestMessages(output []byte) ([]string, error) {
	var files []struct{ Failures []struct{ Msg string } }
	err := json.Unmarshal(output, &files)
	var messages []string
	for _, file := range files {
		for _, failure := range file.Failures {
			messages = append(messages, failure.Msg)
		}
	}
	return messages, err
}

func gatorMessages(output []byte) ([]string, error) {
	var results []struct{ Msg string }
	err := json.Unmarshal(output, &results)
	var messages []string
	for _, r := range results {
		messages = append(messages, r.Msg)
	}
	return messages, err
}
