// SPDX-License-Identifier: Apache-2.0

package dist

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/test/cluster"
)

// script copies a script of hack into a checkout of its own, with programs in its bin.
func script(t *testing.T, name string, programs map[string]string) (checkout string) {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	checkout = t.TempDir()
	put := func(file string, text []byte) {
		at := filepath.Join(checkout, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("hack/"+name, read(t, filepath.Join(root, "hack", name)))
	for program, text := range programs {
		put("bin/"+program, []byte(text))
	}
	return checkout
}

// started is a script under way, which ends with the test.
type started struct {
	lines *bufio.Scanner
	stdin io.WriteCloser
	wait  func() error
}

// start starts a script; its lines are what it prints on both streams.
func start(t *testing.T, cmd *exec.Cmd) *started {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, when all went well
		out.Close()
	})
	return &started{bufio.NewScanner(out), stdin, cmd.Wait}
}

// until reads lines up to one that a pattern finds, and gives what it found, with all that was printed.
func (s *started) until(t *testing.T, pattern string) (found []string, printed string) {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	for s.lines.Scan() {
		printed += s.lines.Text() + "\n"
		if found = expression.FindStringSubmatch(s.lines.Text()); found != nil {
			return found, printed
		}
	}
	t.Fatalf("no line is like %s:\n%s", pattern, printed)
	return nil, ""
}

// managerVariable has this test program stand for the manager that make run starts.
const managerVariable = "EVENKEEL_TEST_STANDS_FOR_MANAGER"

// TestMain is the manager, as far as its ports go, for hack/run-manager.sh.
func TestMain(m *testing.M) {
	if os.Getenv(managerVariable) == "" {
		os.Exit(m.Run())
	}
	if err := listen(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stdout, "ended:", err)
		os.Exit(1)
	}
}

// listen listens where the manager's flags say, until nobody holds standard input any more.
func listen(args []string) error {
	flags := map[string]string{}
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		flags[name] = value
	}
	for _, address := range []string{net.JoinHostPort(flags["webhook-host"], flags["webhook-port"]),
		flags["health-probe-bind-address"]} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		defer l.Close()
		fmt.Fprintln(os.Stdout, "listening on", l.Addr())
	}
	fmt.Fprintln(os.Stdout, "at work:", flags["webhook-url"], flags["kubeconfig"], flags["source-dir"],
		flags["sync-period"])
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// TestTwoManagersRunSideBySide: each takes ports that are free, of this machine alone, and prints them.
func TestTwoManagersRunSideBySide(t *testing.T) {
	checkout := script(t, "run-manager.sh", map[string]string{
		"kubectl":  "#!/bin/sh\nif [ \"$2\" = token ]; then echo a-token; fi\n",
		"evenkeel": fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", managerVariable, os.Args[0])})
	taken := map[string]string{}
	for _, name := range []string{"default", "other"} {
		dir := filepath.Join(checkout, ".local", name)
		if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		// It ends once its standard input does, at the end of the test, and not with its context before.
		s := start(t, exec.CommandContext(context.WithoutCancel(t.Context()),
			filepath.Join(checkout, "hack/run-manager.sh"), name, "--sync-period=1h"))
		atWork, printed := s.until(t, "^at work: (\\S+) (\\S+) (\\S+) (\\S+)$")
		webhook := regexp.MustCompile(`(?m)^Webhook: +https://localhost:(\d+)$`).FindStringSubmatch(printed)
		probes := regexp.MustCompile(`(?m)^Readiness: +http://localhost:(\d+)/readyz$`).FindStringSubmatch(printed)
		if webhook == nil || probes == nil {
			t.Fatalf("%s doesn't print its ports:\n%s", name, printed)
		}
		for _, port := range []string{webhook[1], probes[1]} {
			if other := taken[port]; other != "" {
				t.Errorf("%s takes port %s, which %s has", name, port, other)
			}
			taken[port] = name
			if !strings.Contains(printed, "listening on 127.0.0.1:"+port+"\n") {
				t.Errorf("%s doesn't listen on port %s of this machine alone:\n%s", name, port, printed)
			}
		}
		if strings.Count(printed, "listening on") != 2 {
			t.Errorf("%s listens elsewhere too:\n%s", name, printed)
		}
		own := filepath.Join(dir, "manager")
		if atWork[1] != "https://localhost:"+webhook[1] || filepath.Dir(atWork[2]) != own ||
			filepath.Dir(atWork[3]) != own || atWork[4] != "1h" {
			t.Errorf("%s is called otherwise than it prints, or shares a file: %q", name, atWork)
		}
		t.Cleanup(func() {
			if err := s.stdin.Close(); err != nil {
				t.Error(err)
			}
			if err := s.wait(); err != nil {
				t.Errorf("%s ends with %v", name, err)
			}
		})
	}
	if len(taken) != 4 {
		t.Errorf("they take the ports %v, want two each", taken)
	}
}

// TestABuildThatTakesLongSaysThatItGoesOn: the first compiles for minutes. It ends without a word, and leaves nobody
// behind who would go on telling.
func TestABuildThatTakesLongSaysThatItGoesOn(t *testing.T) {
	checkout := script(t, "build.sh", map[string]string{"go": "#!/bin/sh\nread -r until_told\necho \"go $*\"\n"})
	cmd := exec.CommandContext(t.Context(), filepath.Join(checkout, "hack/build.sh"), "out", "v1.2.3")
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(checkout, "bin")+":"+os.Getenv("PATH"), "PROGRESS_EVERY=0.05")
	cmd.WaitDelay = time.Minute
	s := start(t, cmd)
	s.until(t, `^  compiling evenkeel, \d+s so far \(minutes the first time, then seconds\)$`)
	s.until(t, `^  compiling evenkeel, \d+s so far`)
	if _, err := io.WriteString(s.stdin, "told\n"); err != nil {
		t.Fatal(err)
	}
	s.until(t, `^go build -trimpath .*internal/version\.version=v1\.2\.3 -o out ./cmd/evenkeel$`)
	if err := s.wait(); err != nil {
		t.Error(err)
	}
	for s.lines.Scan() { // up to the end of all that could write
		if !strings.HasPrefix(s.lines.Text(), "  compiling evenkeel") {
			t.Errorf("it says %q at last", s.lines.Text())
		}
	}
}
