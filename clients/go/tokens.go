package counter

import (
	"container/list"
	_ "embed" // The service config.
	"encoding/json"
	"sync"
)

// ServiceConfig is the published service config: how every client of Counter picks servers and repeats calls.
//
//go:embed service_config.json
var ServiceConfig string

func serviceConfig(retries bool) (string, error) {
	if retries {
		return ServiceConfig, nil
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(ServiceConfig), &config); err != nil {
		return "", err
	}
	for _, method := range config["methodConfig"].([]any) {
		delete(method.(map[string]any), "retryPolicy")
		delete(method.(map[string]any), "waitForReady")
	}
	text, err := json.Marshal(config)
	return string(text), err
}

// Items whose last token a client with ReadYourWrites keeps.
const tokensMax = 10_000

// The last consistency token of each item written, of the last so many items. Nil keeps nothing.
type tokens struct {
	mutex    sync.Mutex
	itemsMax int
	byItem   map[Item]*list.Element
	oldest   *list.List // Of kept; the front was written longest ago.
}

type kept struct {
	item  Item
	token string
}

func newTokens(itemsMax int) *tokens {
	return &tokens{itemsMax: itemsMax, byItem: map[Item]*list.Element{}, oldest: list.New()}
}

func (t *tokens) keep(item Item, token string) {
	if t == nil {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if there, has := t.byItem[item]; has {
		there.Value = kept{item, token}
		t.oldest.MoveToBack(there)
		return
	}
	t.byItem[item] = t.oldest.PushBack(kept{item, token})
	if len(t.byItem) > t.itemsMax {
		delete(t.byItem, t.oldest.Remove(t.oldest.Front()).(kept).item)
	}
}

// The tokens of these items, each once.
func (t *tokens) of(items []Item) []string {
	if t == nil {
		return nil
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var found []string
	seen := map[Item]bool{}
	for _, item := range items {
		if there, has := t.byItem[item]; has && !seen[item] {
			seen[item] = true
			found = append(found, there.Value.(kept).token)
		}
	}
	return found
}
