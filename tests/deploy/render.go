// Renders a chart as Helm does, as far as this chart asks: the templates of a folder with Go's own engine, sprig's functions and
// Helm's include, toYaml and fail. Usage: render CHART RELEASE <VALUES.yaml
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) map[string]interface{} {
	found := map[string]interface{}{}
	text, err := os.ReadFile(path)
	check(err)
	check(yaml.Unmarshal(text, &found))
	return found
}

func merged(base, other map[string]interface{}) map[string]interface{} {
	for name, value := range other {
		if inner, ok := value.(map[string]interface{}); ok {
			if outer, ok := base[name].(map[string]interface{}); ok {
				base[name] = merged(outer, inner)
				continue
			}
		}
		base[name] = value
	}
	return base
}

func main() {
	chart, release := os.Args[1], os.Args[2]
	given := map[string]interface{}{}
	err := yaml.NewDecoder(os.Stdin).Decode(&given)
	if err != nil && err.Error() != "EOF" {
		check(err)
	}
	stated := read(filepath.Join(chart, "Chart.yaml"))
	root := template.New("chart")
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) (string, error) {
		var text bytes.Buffer
		encoder := yaml.NewEncoder(&text)
		encoder.SetIndent(2)
		err := encoder.Encode(value)
		return strings.TrimSuffix(text.String(), "\n"), err
	}
	functions["fail"] = func(reason string) (string, error) { return "", fmt.Errorf("%s", reason) }
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	root.Funcs(functions).Option("missingkey=zero")
	base := filepath.Join(filepath.Base(chart), "templates")
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		_, err = root.New(filepath.Join(base, filepath.Base(file))).Parse(string(text))
		check(err)
	}
	data := map[string]interface{}{
		"Values":   merged(read(filepath.Join(chart, "values.yaml")), given),
		"Release":  map[string]interface{}{"Name": release, "Namespace": "default", "Service": "Helm"},
		"Chart":    map[string]interface{}{"Name": stated["name"], "AppVersion": stated["appVersion"], "Version": stated["version"]},
		"Template": map[string]interface{}{"BasePath": base},
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		check(root.ExecuteTemplate(&text, filepath.Join(base, name), data))
		if name == "NOTES.txt" {
			fmt.Fprint(os.Stderr, text.String())
			continue
		}
		fmt.Printf("---\n# %s\n%s\n", name, text.String())
	}
}
