// Loads a file into valgrind's DHAT viewer, without a browser, as its button "Load" does: with the same checks, and with
// all that it displays under each of its sort metrics. Prints the sums that the viewer arrived at.
//
// node dh_view.js VIEWER FILE

'use strict';
const fs = require('fs');
const vm = require('vm');

const [viewer, file] = process.argv.slice(2);

// As much of a document as the viewer touches. What it creates is kept nowhere but in its parent.
class Element {
  constructor(tag) {
    this.tag = tag;
    this.childNodes = [];
    this.selectedIndex = 0;
  }
  appendChild(child) {
    child.parentNode = this;
    this.childNodes.push(child);
    return child;
  }
  replaceChild(child, old) {
    child.parentNode = this;
    this.childNodes[this.childNodes.indexOf(old)] = child;
  }
  cloneNode() {
    return new Element(this.tag);
  }
  text() {
    return (this.textContent || '') + this.childNodes.map((child) => child.text()).join('');
  }
}

const body = new Element('body');
const document = {
  title: '',
  body,
  location: { search: '' },
  createElement: (tag) => new Element(tag),
  createTextNode: (text) => Object.assign(new Element('#text'), { textContent: text }),
};

const context = vm.createContext({ document, performance, Intl, URLSearchParams, console, data: fs.readFileSync(file, 'utf8') });
vm.runInContext(fs.readFileSync(viewer, 'utf8'), context, { filename: viewer });
const sums = vm.runInContext(
  `
  onLoad();
  gFilename = 'file';
  gData = JSON.parse(data);
  buildTree();
  for (let i = 0; i < gSelectData.length; i++) {
    if (gSelectData[i].enable(gData.bklt, gData.bkacc)) {
      gSelect.selectedIndex = i;
      displayTree();
    }
  }
  gSelect.selectedIndex = 0;
  displayTree();
  ({
    total_bytes: gRoot._totalBytes, total_blocks: gRoot._totalBlocks, lifetimes: gRoot._totalLifetimes,
    peak_bytes: gRoot._atTGmaxBytes, peak_blocks: gRoot._atTGmaxBlocks,
    end_bytes: gRoot._atTEndBytes, end_blocks: gRoot._atTEndBlocks,
  })
  `,
  context
);
console.log(JSON.stringify({ ...sums, shown: body.text() }));
