// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: prod, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: prod, context: {cluster: prod}}]
`

func TestAClusterThatNothingNamesIsRefused(t *testing.T) {
	dir := commandline.Folder(
		t, map[string]string{"good": kubeconfig + "current-context: prod\n", "nocontext": kubeconfig, "broken": "{{{"})
	cases := map[string]struct {
		reason, file string
		args         []string
		want         int
		says         string
	}{
		"a KUBECONFIG that isn't there": {
			reason: "the file is what is wrong, not a port of this machine", file: "nosuch", want: command.ExitUsage,
			says: filepath.Join(dir, "nosuch")},
		"a KUBECONFIG without a current context": {
			reason: "client-go would take a port of this machine", file: "nocontext", want: command.ExitUsage,
			says: filepath.Join(dir, "nocontext")},
		"the same with --context": {
			reason: "then a cluster is named", file: "nocontext", args: []string{"--context=prod"},
			want: command.ExitFailure, says: "127.0.0.1:1"},
		"a KUBECONFIG that can't be read": {
			reason: "the file and its line are named", file: "broken", want: command.ExitUsage, says: "broken"},
		"a cluster that doesn't answer": {
			reason: "it was called rightly, and couldn't do its work", file: "good", want: command.ExitFailure,
			says: "127.0.0.1:1"},
		"a server that a flag names": {
			reason: "it needs no file", file: "nosuch", args: []string{"--server=http://127.0.0.1:1"},
			want: command.ExitFailure, says: "127.0.0.1:1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", filepath.Join(dir, tc.file))
			_, message, code := commandline.Invoke(
				t, newRootCommand(), append([]string{"rollout", "get"}, tc.args...)...)
			if code != tc.want || !strings.Contains(message, tc.says) {
				t.Errorf("%s: code %d, %s; want %d and %q", tc.reason, code, message, tc.want, tc.says)
			}
		})
	}
}

func TestWrongCallsEndWithCode2BeforeAnythingIsAsked(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nosuch"))
	cases := map[string]struct {
		args []string
		says string
	}{
		"a shell that isn't known":  {[]string{"completion", "tcsh"}, "give one of bash, fish"},
		"a selector that isn't one": {[]string{"scan", "--selector", "!!"}, "--selector"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, message, code := commandline.Invoke(t, newRootCommand(), tc.args...)
			if code != command.ExitUsage || !strings.Contains(message, tc.says) {
				t.Errorf("code %d, %s; want %d and %q", code, message, command.ExitUsage, tc.says)
			}
		})
	}
}
