// What the page knows, and the events that say what changed:
// "table", "map" (positions are here), "predictions", "state", "selection", "matches", "connection".

export const NONE = 65535; // class code of rows without a prediction

class Store extends EventTarget {
  table = null;
  positions = null; // rows × dimensions
  codes = null; // class of every row
  certainty = null; // 0 to 255
  labelled = null; // 1: labelled
  skipped = null; // 1: skipped, neither labelled nor suggested
  accepted = null; // 1: the prediction was accepted as it is
  state = { version: -1, classes: [], suggestions: [], labelled: 0, accuracy: null };
  selection = []; // selected rows
  focus = null; // the row to show on the right
  via = ""; // where it was selected: "table", "shown" for all rows that a filter shows, or elsewhere
  visible = null; // the row whose cells are on the screen
  matches = null; // 1: found by a search; null without one
  connected = true;
  waiting = 0; // labels not yet saved

  on(topics, listener) {
    for (const topic of topics.split(" ")) this.addEventListener(topic, listener);
  }

  changed(topic) {
    this.dispatchEvent(new Event(topic));
  }

  className(code) {
    return code === NONE ? null : (this.state.classes[code]?.name ?? null);
  }

  codeOf(name) {
    const code = this.state.classes.findIndex(one => one.name === name);
    return code < 0 ? NONE : code;
  }

  select(rows, focus = rows.length ? rows[rows.length - 1] : null, via = "") {
    this.selection = rows;
    this.via = via;
    this.focus = focus;
    this.changed("selection");
  }

  /** Return how many of the selected rows are labelled. */
  labelledSelection() {
    return this.selection.reduce((sum, row) => sum + this.labelled[row], 0);
  }

  /** Add a row to the selection, or take it out. */
  toggle(row) {
    const others = this.selection.filter(one => one !== row);
    this.select(others.length === this.selection.length ? [...others, row] : others);
  }
}

export const store = new Store();

// The name of who labels in this browser: that of the command at first; empty if there shall be none.
const key = () => `annotator ${store.table.annotator ?? ""}`;
export const person = () => localStorage.getItem(key()) ?? store.table.annotator;
export function setPerson(name) {
  localStorage.setItem(key(), name.trim());
  store.changed("person");
}
