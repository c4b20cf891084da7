/* The review of a game: its graph and its mistakes. */

import { button, make, part } from "./elements.mjs";
import { moverAt } from "./rules.mjs";
import { chance, moveText, percent } from "./words.mjs";

export function showReview(page) {
  const { review, mistakes, job } = page.analyst;
  const busy = job !== null && job.message.do === "review";
  button("review").disabled = busy || page.tree.nodes.length < 2;
  button("stop-review").hidden = !busy;
  part("graph").toggleAttribute("hidden", !review);
  const known = review ? review.entries.filter(Boolean).length : 0;
  let told = "";
  if (busy) told = `${known} of ${review.moves.length + 1} positions`;
  else if (review?.done)
    told = mistakes.length
      ? `${mistakes.length} ${mistakes.length === 1 ? "mistake" : "mistakes"}`
      : "No mistakes found";
  part("review-told").textContent = told;
  if (page.tab !== "review") return;
  const ply = page.reviewed;
  if (review) page.graph.show(review.entries, review.moves.length, mistakes, ply);
  part("review-here").textContent = aboutReview(page, ply);
  const list = part("mistakes");
  const wanted = mistakes.map(({ ply: at, cost, best, move }) => `${at} ${cost} ${best} ${move}`).join();
  if (list.dataset.shown === wanted) return;
  list.dataset.shown = wanted;
  list.replaceChildren(
    ...mistakes.map(({ ply: at, cost, best, move }) =>
      make(
        "li",
        {},
        make(
          "button",
          { type: "button", "data-ply": at + 1 },
          make("i", { class: `stone ${moverAt(page.tree.setup, at)}` }),
          make("span", {}, `${at + 1}. ${moveText(move)}`),
          make("b", {}, `−${percent(cost)}%`),
          make("span", { class: "quiet" }, best ? `better ${moveText(best)}` : ""),
        ),
      ),
    ),
  );
}

/** The review of the move that led to this position, and what is best now. */
function aboutReview(page, ply) {
  const { review } = page.analyst;
  if (!review) return "";
  if (ply < 0) return "This position is not in the line under review.";
  const [before, now] = [review.entries[ply - 1], review.entries[ply]];
  const words = [];
  if (before && before.cost >= 0.01 && before.best !== review.moves[ply - 1]) {
    const better = (before.expected.length ? before.expected : [before.best]).slice(0, 6).map(moveText).join(" ");
    words.push(`${moveText(review.moves[ply - 1])} cost ${percent(before.cost)}%; better was ${better}.`);
  }
  if (now) words.push(`Black ${percent(chance(now.value))}%.`);
  if (now?.best) words.push(`Best now: ${moveText(now.best)}.`);
  return words.join(" ");
}
