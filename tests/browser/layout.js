// What is wrong with the layout of a page as it stands, by the boxes of its texts and controls. Evaluated in the page.
() => {
  const LEAST_PX = 2; // rounding, and the descenders of one line beside the ascenders of the next
  const CONTROLS = "a[href], button, input, select, textarea, summary, [role=tab], [role=slider]";

  const clips = (style, axis) => ["hidden", "clip"].includes(style[`overflow${axis}`]);
  const scrolls = (style, axis) => ["auto", "scroll"].includes(style[`overflow${axis}`]);
  const isShown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const isForReadersOnly = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const box = at.getBoundingClientRect();
      const style = getComputedStyle(at);
      if (style.position === "absolute" && box.width <= 1 && box.height <= 1) return true;
      if (style.clipPath !== "none" && box.width <= 1) return true;
    }
    return false;
  };
  const name = (element) => {
    const at = element.closest("[data-testid]");
    const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
    return `${element.tagName.toLowerCase()} "${text}" in ${at ? at.dataset.testid : "the page"}`;
  };
  const isFixed = (element) => {
    for (let at = element; at; at = at.parentElement) {
      if (["fixed", "sticky"].includes(getComputedStyle(at).position)) return true;
    }
    return false;
  };

  /** The part of a box that can be seen, and whether some of it can neither be seen nor scrolled to. */
  const seen = (element, box) => {
    let { left, top, right, bottom } = box;
    let lost = false;
    for (let at = element; at && at !== document.documentElement; at = at.parentElement) {
      const style = getComputedStyle(at);
      const frame = at.getBoundingClientRect();
      const isCutAtLine = !["", "none"].includes(style.webkitLineClamp) && at.closest("[title]") !== null;
      const isCut = style.textOverflow === "ellipsis" || isCutAtLine;
      for (const [axis, low, high] of [["X", "left", "right"], ["Y", "top", "bottom"]]) {
        const [from, to] = axis === "X" ? [left, right] : [top, bottom];
        if (clips(style, axis) || scrolls(style, axis)) {
          const over = from < frame[low] - LEAST_PX || to > frame[high] + LEAST_PX;
          lost ||= over && clips(style, axis) && !isCut;
          if (axis === "X") [left, right] = [Math.max(from, frame.left), Math.min(to, frame.right)];
          else [top, bottom] = [Math.max(from, frame.top), Math.min(to, frame.bottom)];
        }
      }
      if (style.position === "fixed") break;
    }
    return { left, top, right, bottom, lost };
  };

  const found = [];
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, option, .skip")) continue;
    if (!isShown(element) || isForReadersOnly(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1) continue;
      const part = seen(element, box);
      if (part.lost) found.push(`cut off: ${name(element)}`);
      if (part.left < -LEAST_PX) found.push(`left of the page: ${name(element)}`);
      boxes.push({ ...part, element, isText: true });
    }
  }
  for (const element of document.body.querySelectorAll(CONTROLS)) {
    if (!isShown(element) || element.matches(".skip") || isForReadersOnly(element)) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 1 || box.height < 1) found.push(`without a size: ${name(element)}`);
    const part = seen(element, box);
    if (part.lost) found.push(`cut off: ${name(element)}`);
    boxes.push({ ...part, element, isText: false });
  }

  const still = boxes.filter((box) => !isFixed(box.element)).sort((a, b) => a.top - b.top);
  still.forEach((one, index) => {
    for (const other of still.slice(index + 1)) {
      if (other.top >= one.bottom) break;
      if (one.isText !== other.isText || one.element.contains(other.element) || other.element.contains(one.element)) continue;
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      const lower = Math.min(one.bottom - one.top, other.bottom - other.top);
      if (width > LEAST_PX && height > Math.max(LEAST_PX, lower / 3)) {
        found.push(`overlap: ${name(one.element)} | ${name(other.element)}`);
      }
    }
  });
  const parts = [...document.body.querySelectorAll("[data-testid]")].filter(isShown).map((part) => part.dataset.testid);
  return { found: [...new Set(found)], parts: [...new Set(parts)].sort() };
}
