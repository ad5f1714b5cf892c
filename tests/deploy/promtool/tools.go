//go:build tools

// Package promtool pins the program that checks what deploy/monitoring holds. Nothing imports it.
package promtool

import _ "github.com/prometheus/prometheus/cmd/promtool"
