// Shows the trace while the trial run fetches the page, then loads the page to choose a list on.
import { say } from "./app.js";

const fetching = document.getElementById("fetching");
const trace = document.getElementById("trace");

async function look() {
  for (;;) {
    const answer = await fetch(`${fetching.dataset.base}/so-far`);
    if (!answer.ok) return location.reload();
    const { over, lines } = await answer.json();
    if (over) return location.reload();
    if (trace.textContent !== lines.join("\n")) {
      trace.textContent = lines.join("\n");
      say(lines.at(-1) ?? "");
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
look().catch(() => say("The daemon does not answer."));
