// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

// tailLines is how much of a failed build's output an error shows.
const tailLines = 20

// Programs are the paths of what the demo runs.
type Programs struct {
	Root         string
	ControlPlane string
	Evenkeel     string
	Prometheus   string
	Alertmanager string
}

// Build builds what is missing or out of date: the two programs into bin/, and
// the components of the control plane into its cache folder.
func Build(ctx context.Context, show *screen.Screen, root string) (Programs, error) {
	p := Programs{
		Root:         root,
		ControlPlane: filepath.Join(root, "bin", "controlplane"),
		Evenkeel:     filepath.Join(root, "bin", "evenkeel"),
	}
	for _, b := range []struct{ label, dir, out, pkg string }{
		{"building the control plane's command", filepath.Join(root, "hack", "controlplane"), p.ControlPlane,
			"./cmd/controlplane"},
		{"building Evenkeel", root, p.Evenkeel, "./cmd/evenkeel"},
	} {
		if _, err := show.Track(b.label, func(detail func(string)) error {
			return goBuild(ctx, b.dir, b.out, b.pkg, detail)
		}); err != nil {
			return Programs{}, err
		}
	}
	cmd := exec.CommandContext(ctx, p.ControlPlane, "build")
	cmd.Dir, cmd.Stderr = root, os.Stderr // it shows its own progress
	if err := cmd.Run(); err != nil {
		return Programs{}, fmt.Errorf("build the control plane's components: %w; see above", err)
	}
	return p, fetchTools(ctx, show, &p)
}

// goBuild tells which packages the compiler takes up.
func goBuild(ctx context.Context, dir, out, pkg string, detail func(string)) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-o", out, pkg)
	cmd.Dir = dir
	lines, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w: is Go on the PATH?", pkg, err)
	}
	tail := follow(lines, detail)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", pkg, dir, err, strings.Join(tail, "\n"))
	}
	return nil
}

func follow(output io.Reader, detail func(string)) (tail []string) {
	compiled := 0
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		tail = append(tail, line)
		if len(tail) > tailLines {
			tail = tail[1:]
		}
		if strings.HasPrefix(line, "go: downloading") {
			detail(strings.TrimPrefix(line, "go: "))
			continue
		}
		compiled++
		detail(fmt.Sprintf("%d packages compiled, now %s", compiled, line))
	}
	return tail
}
