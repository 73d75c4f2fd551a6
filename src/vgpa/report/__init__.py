"""What a run says about itself: report.json for programs, report.html for people."""
