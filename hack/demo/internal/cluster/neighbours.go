// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

// fetchTools fetches Prometheus and Alertmanager into the cache folder.
func fetchTools(ctx context.Context, show *screen.Screen, p *Programs) error {
	_, err := show.Track("fetching Prometheus and Alertmanager", func(func(string)) error {
		cmd := exec.CommandContext(ctx, p.ControlPlane, "tools", "-o", "json")
		cmd.Dir, cmd.Stderr = p.Root, os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("fetch Prometheus and Alertmanager: %w; see above", err)
		}
		paths := map[string]string{}
		if err := json.Unmarshal(text, &paths); err != nil {
			return fmt.Errorf("read where Prometheus and Alertmanager are from %q: %w", text, err)
		}
		p.Prometheus, p.Alertmanager = paths["prometheus"], paths["prometheus-alertmanager"]
		return nil
	})
	return err
}

// StartMonitoring starts a Prometheus that scrapes address, and an Alertmanager
// that tells it of alerts, each owner's to a receiver of its own; they end with
// the demo. It returns their URLs.
func (c *Cluster) StartMonitoring(ctx context.Context, address string, owners []string) (
	prometheus, alertmanager string, err error) {
	ports, err := freePorts(c.work+"monitoring", 2)
	if err != nil {
		return "", "", err
	}
	prometheus, alertmanager = fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	for file, text := range map[string]string{
		"prometheus.yml": scrape(address), "alertmanager.yml": routes(address, owners)} {
		if err := os.WriteFile(filepath.Join(c.work, file), []byte(text), 0o600); err != nil {
			return "", "", fmt.Errorf("write %s: %w", file, err)
		}
	}
	in := func(file string) string { return filepath.Join(c.work, file) }
	for _, d := range []struct {
		name, path, url string
		args            []string
	}{
		{"Prometheus", c.programs.Prometheus, prometheus, []string{
			"--config.file=" + in("prometheus.yml"), "--storage.tsdb.path=" + in("prometheus-data"),
			fmt.Sprintf("--web.listen-address=127.0.0.1:%d", ports[0])}},
		{"Alertmanager", c.programs.Alertmanager, alertmanager, []string{
			"--config.file=" + in("alertmanager.yml"), "--storage.path=" + in("alertmanager-data"),
			"--cluster.listen-address=", fmt.Sprintf("--web.listen-address=127.0.0.1:%d", ports[1])}},
	} {
		started, err := c.run(ctx, d.name, d.path, d.url+"/-/ready", false, d.args...)
		if started != nil {
			c.monitoring = append(c.monitoring, started)
		}
		if err != nil {
			return "", "", err
		}
	}
	return prometheus, alertmanager, nil
}

func scrape(address string) string {
	return fmt.Sprintf(`global:
  scrape_interval: 500ms
  scrape_timeout: 500ms
scrape_configs:
  - job_name: shop
    static_configs:
      - targets: [%q]
`, address)
}

// routes is a routing tree by owner.
func routes(address string, owners []string) string {
	text := `route:
  receiver: nobody-in-particular
  group_by: [alertname, policy]
  group_wait: 0s
  group_interval: 1s
  repeat_interval: 1h
  routes:
`
	receivers := ""
	for _, owner := range owners {
		text += fmt.Sprintf("    - {receiver: %s, matchers: ['owner=\"%s\"']}\n", owner, owner)
	}
	for _, name := range append(owners, "nobody-in-particular") {
		receivers += fmt.Sprintf(
			"  - name: %s\n    webhook_configs:\n      - {url: 'http://%s/notify/%s', send_resolved: true}\n", name,
			address, name)
	}
	return text + "receivers:\n" + receivers
}
